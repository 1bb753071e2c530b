"""The program of docs/batch.md is compiled and run as those of docs/driving.md are: people hang where they should.

TENON in the environment names the program.
"""
import os
import re
import subprocess
import sys
import tempfile

from driving_test import ROOT, build, check


def check_crowd(lines):
    check(len(lines) == 6, "6 lines, not %d" % len(lines))
    places = [float(re.search(r"x = (-?\d+\.\d+) m", line).group(1)) for line in lines[:4]]
    check(all(abs(x) < 0.1 for x in places[:2]), "the first half hangs at %s" % places[:2])
    check(all(abs(x - 1) < 0.1 for x in places[2:]), "the second half hangs at %s" % places[2:])
    check(lines[4] == "joints closed to 1e-8", lines[4])
    check(lines[5] == "the last copy is where it would be alone", lines[5])


def main():
    with open(os.path.join(ROOT, "docs", "batch.md"), encoding="utf-8") as file:
        source = re.search("^```c\n(.*?)^```", file.read(), re.M | re.S).group(1)
    with tempfile.TemporaryDirectory() as folder:
        scene = os.path.join(folder, "humanoid.json")
        with open(scene, "w", encoding="utf-8") as file:
            subprocess.run([os.environ["TENON"], "scene", "humanoid:joints=anatomical"], stdout=file, check=True)
        program = build(folder, "crowd", source)
        done = subprocess.run([program, scene], capture_output=True, text=True, check=False)
        check(done.returncode == 0, done.stderr)
        check_crowd(done.stdout.splitlines())
    print("1 passed, 0 failed")


if __name__ == "__main__":
    sys.exit(main())
