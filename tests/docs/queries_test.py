"""The program of docs/queries.md is compiled and run as those of docs/driving.md are; a falling box knows how high it is.

TENON in the environment names the program.
"""
import os
import re
import sys
import tempfile

from driving_test import ROOT, build, check, output


def check_look(lines):
    check(len(lines) == 6, "6 lines, not %d" % len(lines))
    for line in lines:
        time, height, apart = (float(word) for word in re.findall(r"\d+\.\d+", line))
        check("above ground" in line, line)
        # Free fall; first-order methods are off by g h t / 2, at most 0.025 m.
        check(abs(height - (3 - 0.5 * 9.81 * time * time)) < 0.026, "height %g at %g s" % (height, time))
        # The post reaches from -2.1 to 2.1; its axis ends at 2.
        over = max(0, height - 0.2 - 2)
        check(abs(apart - ((0.8 ** 2 + over ** 2) ** 0.5 - 0.1)) < 2e-4, line)


def main():
    with open(os.path.join(ROOT, "docs", "queries.md"), encoding="utf-8") as file:
        source = re.search("^```c\n(.*?)^```", file.read(), re.M | re.S).group(1)
    with tempfile.TemporaryDirectory() as folder:
        check_look(output(build(folder, "look", source)).splitlines())
    print("1 passed, 0 failed")


if __name__ == "__main__":
    sys.exit(main())
