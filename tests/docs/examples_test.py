"""Every program of examples/ is compiled as a user would and run; what it prints is checked against mechanics. Pages
that show an example show it as it is.

TENON in the environment names the program.
"""
import math
import os
import re
import subprocess
import sys

from programs import ROOT, blocks, check, output, read, run_all, scene_file

G = 9.81


def numbers(line):
    return [float(word) for word in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", line)]


def check_hello(path, folder):
    lines = [numbers(line) for line in output(path).splitlines()]
    check(len(lines) == 11, "11 lines, not %d" % len(lines))
    inertia, angle, rate, at, h = 1 / 12 + 0.25, 0.0, 0.0, 0, 1e-4  # about the pin; midpoint steps of 0.1 ms; the example has steps of 1 ms, second order
    for time, measured, error in lines:
        while at < round(time / h):
            half = angle + 0.5 * h * rate
            rate += h * G * 0.5 * math.cos(half) / inertia
            angle = half + 0.5 * h * rate
            at += 1
        check(abs(measured - angle) < 2e-5, "angle %g, not %g, at %g s" % (measured, angle, time))
        check(error < 1e-9, "joint error %g" % error)


def check_linkage(path, folder):
    lines = output(path).splitlines()
    check(re.match(r"assembled: joint error 0\.5 -> \de-1\d$", lines[0]), lines[0])
    check(len(lines) == 12, "12 lines, not %d" % len(lines))
    first = None
    for i, line in enumerate(lines[1:]):
        crank, rocker, error = numbers(line)
        first = crank if first is None else first
        ends = ((0.3 * math.cos(crank), 0.3 * math.sin(crank)),
                (0.8 - 0.6 * math.cos(rocker), -0.6 * math.sin(rocker)))
        check(abs(math.dist(*ends) - 0.8) < 1e-4, "the coupler is %g m long" % math.dist(*ends))
        check(abs(crank - first - 3 * 0.21 * i) < 1e-4 and error < 1e-9, line)


def check_contacts(path, folder):
    mass = 500 * 0.4 * 0.4 * 0.2
    for i, line in enumerate(output(path).splitlines()):
        slope, points, normal, rub, speed = numbers(line)
        check(slope == round(0.2 * (i + 1), 1) and points == 4, line)
        check(abs(normal - mass * G * math.cos(slope)) < 1e-3, line)
        most = 0.5 * normal
        check(abs(-rub - min(most, mass * G * math.sin(slope))) < 2e-3, line)
        check(abs(speed - max(0, G * math.sin(slope) - most / mass)) < 1e-4, line)  # after a second
    check(i == 2, "three slopes")


def check_character(path, folder):
    text = output(path, scene_file(folder, "humanoid"), os.path.join(ROOT, "scenes", "walk.bvh"))
    seconds, way, error = numbers(text)
    check(3 < seconds < 10 and way > 1 and error < 1e-8, text)
    for words in ([], ["no_such_file.json", "none.bvh"]):
        done = subprocess.run([path] + words, capture_output=True, timeout=60, text=True)
        check(done.returncode in (1, 2) and done.stderr.count("\n") == 1, "%r: %r" % (words, done.stderr))


def check_constraint(path, folder):
    lines = [numbers(line) for line in output(path).splitlines()]
    check(len(lines) == 11, "11 lines, not %d" % len(lines))
    for time, x, z, off, energy in lines:
        check(abs(z - x * x) < 2e-5 and abs(off) < 1e-12, "off the wire at %g s: %g %g" % (time, x, z))
        check(abs(energy - 0.1 * G) < 1e-8, "energy %.12g" % energy)
    check(lines[-1][1] > 0 > min(line[1] for line in lines), "it does not swing")


def check_batch(path, folder):
    lines = output(path, scene_file(folder, "humanoid:joints=anatomical")).splitlines()
    check(len(lines) == 6, "6 lines, not %d" % len(lines))
    places = [float(re.search(r"x = (-?\d+\.\d+) m", line).group(1)) for line in lines[:4]]
    check(all(abs(x) < 0.1 for x in places[:2]), "the first half hangs at %s" % places[:2])
    check(all(abs(x - 1) < 0.1 for x in places[2:]), "the second half hangs at %s" % places[2:])
    check(lines[4] == "joints closed to 1e-8", lines[4])
    check(lines[5] == "the last copy is where it would be alone", lines[5])


def check_rays(path, folder):
    lines = output(path).splitlines()
    check(len(lines) == 6, "6 lines, not %d" % len(lines))
    for line in lines:
        time, height, apart = (float(word) for word in re.findall(r"\d+\.\d+", line))
        check("above ground" in line, line)
        # Free fall; first-order methods are off by g h t / 2, at most 0.025 m.
        check(abs(height - (3 - 0.5 * G * time * time)) < 0.026, "height %g at %g s" % (height, time))
        # The post reaches from -2.1 to 2.1; its axis ends at 2.
        over = max(0, height - 0.2 - 2)
        check(abs(apart - ((0.8 ** 2 + over ** 2) ** 0.5 - 0.1)) < 2e-4, line)


def check_drag(path, folder):
    scene = scene_file(folder, "robot")
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


def shown_examples():
    """Blocks of pages that begin as an example does must be that example."""
    wrong = 0
    names = sorted(name[:-2] for name in os.listdir(os.path.join(ROOT, "examples")) if name.endswith(".c"))
    pages = ["README.md"] + [os.path.join("docs", name) for name in os.listdir(os.path.join(ROOT, "docs"))
                             if name.endswith(".md")]
    shown = set()
    for page in pages:
        for block in blocks(read(page), "c"):
            found = re.match(r"// (\w+): ", block)
            if not found or found.group(1) not in names:
                continue
            shown.add(found.group(1))
            if block != read("examples", found.group(1) + ".c"):
                print("FAILED %s does not show examples/%s.c as it is" % (page, found.group(1)))
                wrong += 1
    listed = set(re.findall(r"\(\.\./examples/(\w+)\.c\)", read("docs", "examples.md")))
    if listed != set(names) or not {"hello", "batch", "rays", "constraint"} <= shown:
        print("FAILED docs/examples.md lists %r of %r; shown are %r" % (sorted(listed), names, sorted(shown)))
        wrong += 1
    return wrong, names


def main():
    wrong, names = shown_examples()
    checks = {name[len("check_"):]: function for name, function in globals().items() if name.startswith("check_")}
    failed = run_all([(name, read("examples", name + ".c")) for name in names], checks)
    return 1 if failed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
