"""The programs of docs/driving.md are compiled and run; what they print is checked against mechanics.

TENON in the environment names the program.
"""
import math
import re
import sys

from programs import blocks, check, output, read, run_all


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


def main():
    programs = [(re.match(r"// (\w+)\.c:", block).group(1), block)
                for block in blocks(read("docs", "driving.md"), "c")]
    return run_all(programs, {"push": check_push, "touch": check_touch})


if __name__ == "__main__":
    sys.exit(main())
