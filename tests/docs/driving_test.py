"""The programs of docs/driving.md and of examples/ are compiled as a user would, against the public
headers and the library that lies beside the program, and run; what they print is checked against mechanics.

TENON in the environment names the program.
"""
import math
import os
import re
import subprocess
import sys
import tempfile

TENON = os.environ["TENON"]
BUILD = os.path.dirname(TENON)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def cache(name, default=""):
    """A setting of the build, from CMake's cache."""
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search("^%s:[A-Z]+=(.*)$" % name, file.read(), re.M)
    return found.group(1) if found else default


def programs():
    """(name, source) of every program: C blocks of the page that have a main, and examples/*.c."""
    with open(os.path.join(ROOT, "docs", "driving.md"), encoding="utf-8") as file:
        for block in re.findall("^```c\n(.*?)^```", file.read(), re.M | re.S):
            yield re.match(r"// (\w+)\.c:", block).group(1), block
    folder = os.path.join(ROOT, "examples")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".c"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield name[:-2], file.read()


def build(folder, name, source):
    path = os.path.join(folder, name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    command = [cache("CMAKE_C_COMPILER", "cc"), "-std=c17", "-Wall", "-Wextra", "-Werror", "-O1"]
    if cache("TENON_SANITIZE"):
        command.append("-fsanitize=" + cache("TENON_SANITIZE"))
    command += ["-I" + os.path.join(ROOT, "include"), path + ".c", "-o", path, "-L" + BUILD, "-ltenon"]
    command += ["-Wl,-rpath," + BUILD, "-lm"]
    if cache("TENON_CHOLMOD") == "ON":
        command += ["-lcholmod"]
    subprocess.run(command, check=True, timeout=120)
    return path


def output(*command):
    done = subprocess.run(command, capture_output=True, timeout=300, text=True)
    if done.returncode != 0:
        raise AssertionError("%s: exit code %d: %s" % (command[0], done.returncode, done.stderr))
    return done.stdout


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def check_push(path, folder):
    text = output(path)
    pull, behind = re.match(r"strongest pull ([\d.]+) N, farthest behind ([\d.]+) mm", text).groups()
    # Statics need 15 N at the hand where the arm is level; swinging 1 kg at 2 rad/s on 0.12 m is 0.5 N more.
    check(10 < float(pull) < 40 and abs(float(behind) - float(pull) / 20) < 0.01, text)


def check_touch(path, folder):
    lines = [[float(word) for word in re.findall(r"-?\d+\.\d+", line)] for line in output(path).splitlines()]
    check(len(lines) == 10, "10 lines, not %d" % len(lines))
    for time, x, z, fx, fz in lines:
        check(abs(math.hypot(x, z) - 0.5) < 1e-4, "the rod leaves its pin: %g %g" % (x, z))
        if 6 <= time <= 9:  # at rest: torque about the pin, of the hand at the tip and of the weight
            check(abs(2 * z * fx - 2 * x * fz + x * 3 * 9.81) < 0.02, "no balance at %g s" % time)
            check(x > 0.15, "not drawn aside: %g" % x)
    check(lines[-1][3:] == [0, 0], "a handle that was let go pulls")


def check_drag(path, folder):
    scene = os.path.join(folder, "robot.json")
    with open(scene, "w", encoding="utf-8") as file:
        file.write(output(TENON, "scene", "@robot"))
    text = output(path, scene, "right_hand").splitlines()
    rows = [[float(word) for word in line.split()] for line in text[1:-1]]
    check(len(rows) >= 20 and all(len(row) == 7 for row in rows), "rows: %r" % text)
    check(rows[0][4:] == [0, 0, 0], "taking hold pulls: %r" % rows[0])
    check(all(math.isfinite(x) for row in rows for x in row), "not finite")
    middle = min(rows, key=lambda row: abs(row[0] - 2))
    led = [middle[k] - rows[0][k] for k in (1, 2, 3)]
    check(math.dist(led, [0.3, 0.3, 0.1]) < 0.1, "led to %r" % led)
    check(math.hypot(*middle[4:]) > 1, "no reaction: %r" % middle)
    check(text[-1].startswith("work done by the hand:"), text[-1])
    for words in ([], ["no_such_file.json"], [scene, "torso_of_another"], [scene, "ground"]):
        done = subprocess.run([path] + words, capture_output=True, timeout=60, text=True)
        check(done.returncode in (1, 2) and done.stderr.count("\n") == 1, "%r: %r" % (words, done.stderr))


def main():
    passed = failed = 0
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        for name, source in programs():
            found.add(name)
            try:
                globals()["check_" + name](build(folder, name, source), folder)
                passed += 1
            except (AssertionError, AttributeError, KeyError, ValueError, subprocess.SubprocessError) as reason:
                failed += 1
                print("FAILED %s: %s" % (name, reason))
    if found != {"push", "touch", "drag"}:
        failed += 1
        print("FAILED programs: %r" % sorted(found))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
