"""Every file of tests/malformed through the program: exit code 2, nothing on standard output, and one
line on standard error that begins with the file, the line and the column, and says what is wrong.

TENON in the environment names the program.
"""
import os
import subprocess
import sys

TENON = os.environ["TENON"]
FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "malformed")


def wrong(command, name, place, text):
    """What is not as promised; None when all is."""
    done = subprocess.run([TENON, command, name], cwd=FOLDER, capture_output=True, timeout=300)
    err = done.stderr.decode()
    if done.returncode != 2:
        return "exit code %d" % done.returncode
    if done.stdout:
        return "standard output: %r" % done.stdout
    if err.count("\n") != 1 or not err.endswith("\n"):
        return "not one line: %r" % err
    if not err.startswith("tenon: %s:%s: " % (name, place)) or text not in err:
        return "said %r, wanted %s: %s" % (err, place, text)
    return None


def main():
    with open(os.path.join(FOLDER, "expected.txt"), encoding="utf-8") as file:
        expected = [line.rstrip("\n").split("\t") for line in file]
    passed = failed = 0
    for name, place, text in expected:
        for command in ("check", "run", "accel"):
            reason = wrong(command, name, place, text)
            passed += reason is None
            failed += reason is not None
            if reason is not None:
                print("FAILED tenon %s %s: %s" % (command, name, reason))
    files = {name for name in os.listdir(FOLDER) if name.endswith(".json")}
    for name in sorted(files ^ {name for name, _, _ in expected}):
        failed += 1
        print("FAILED %s: a file without a line in expected.txt, or a line without a file" % name)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
