"""What the machines share: vectors, bodies as scene files want them, and a run of the program with its report and its motion."""
import csv
import json
import math
import os
import resource
import subprocess
import tempfile

GRAVITY = 9.81


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def sub(a, b):
    return [x - y for x, y in zip(a, b)]


def scale(s, a):
    return [s * x for x in a]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def norm(a):
    return math.sqrt(dot(a, a))


def turn(axis, angle):
    """The quaternion of a turn about an axis of length 1."""
    return [math.cos(angle / 2), *scale(math.sin(angle / 2), axis)]


def rotate(q, v):
    """Body axes to world axes."""
    t = scale(2, cross(q[1:], v))
    return add(add(v, scale(q[0], t)), cross(q[1:], t))


def rotate_back(q, v):
    return rotate([q[0], -q[1], -q[2], -q[3]], v)


def z_along(direction):
    """An orientation whose z axis is this direction."""
    d = scale(1 / norm(direction), direction)
    axis = [-d[1], d[0], 0.0]  # z x d
    if norm(axis) < 1e-12:
        return [1, 0, 0, 0] if d[2] > 0 else [0, 1, 0, 0]
    return turn(scale(1 / norm(axis), axis), math.atan2(norm(axis), d[2]))


def local(body, point):
    """A point of the world in a body's frame, at the start."""
    return rotate_back(body.get("orientation", [1, 0, 0, 0]), sub(point, body["position"]))


def middle(a, b):
    return scale(0.5, add(a, b))


def box(name, mass, size, position, orientation=(1, 0, 0, 0), **shape):
    """A box of these edges; to look at only, unless shape says otherwise."""
    return {"name": name, "mass": mass, "position": position, "orientation": list(orientation),
            "shapes": [{"type": "box", "half_size": scale(0.5, size), "collide": False, **shape}]}


def rod(name, mass, a, b, radius):
    """A round rod from a to b; its z axis points to b."""
    return {"name": name, "mass": mass, "position": middle(a, b), "orientation": z_along(sub(b, a)),
            "shapes": [{"type": "capsule", "radius": radius, "half_length": norm(sub(b, a)) / 2, "collide": False}]}


def joint(kind, name, first, second, anchor, axis=None, **more):
    j = {"type": kind, "name": name, "bodies": [first, second], "anchor": anchor, **more}
    if axis is not None:
        j["axis"] = axis
    return j


def settings():
    """What a run needs besides the scene, as options and environment: nothing."""
    return [], {}


class Motion:
    """A run: its report, its frames, the processor time of the program."""

    def __init__(self, scene, report, times, frames, seconds):
        self.weight = GRAVITY * sum(b.get("mass", 0.0) for b in scene["bodies"])
        self.report, self.times, self.frames, self.seconds = report, times, frames, seconds
        self.bodies = {b["name"]: b for b in report["bodies"]}
        self.joints = {j["name"]: j for j in report["joints"]}
        self.series = report["series"]

    def at(self, time):
        """The number of the frame nearest to this time."""
        return min(range(len(self.times)), key=lambda i: abs(self.times[i] - time))

    def position(self, body, frame=-1):
        return self.frames[frame][body][0]

    def orientation(self, body, frame=-1):
        return self.frames[frame][body][1]

    def point(self, body, at, frame=-1):
        """A point of the body, in the world."""
        position, orientation = self.frames[frame][body]
        return add(position, rotate(orientation, at))

    def energies(self):
        s = self.series
        return [k + g + e for k, g, e in zip(s["kinetic"], s["gravity"], s["elastic"])]

    def speed(self):
        """Of the fastest body at the end [m/s]."""
        return max(norm(b["velocity"]) for b in self.report["bodies"])


def read_frames(path):
    with open(path, newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        bodies = [n[:-2] for n in names[1::7]]
        times, frames = [], []
        for row in rows:
            numbers = [float(x) for x in row]
            times.append(numbers[0])
            frames.append({b: (numbers[1 + 7 * i:4 + 7 * i], numbers[4 + 7 * i:8 + 7 * i]) for i, b in enumerate(bodies)})
    return times, frames


def run(scene, duration, *more):
    """Simulates the scene; more: options. In the environment: KEEP=folder keeps the scene, the report and the motion there; MORE=options to try it with."""
    with tempfile.TemporaryDirectory() as folder:
        place = os.environ.get("KEEP", folder)
        path = os.path.join(place, scene["name"] + ".json")
        options, environment = settings()
        frames, report = path[:-5] + ".csv", path[:-5] + "_report.json"
        with open(path, "w") as file:
            json.dump(scene, file, indent=1)
        with open(path[:-5] + ".log", "w+") as log:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            code = subprocess.run([os.environ["TENON"], "run", path, "--duration", str(duration), "--quiet", "--series", "--report", report,
                                   "--trajectory", frames, *options, *more, *os.environ.get("MORE", "").split()], stdout=log, stderr=log, timeout=600,
                                  env={**os.environ, **environment}).returncode
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            log.seek(0)
            said = log.read()
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        answer, error = None, ""
        if os.path.exists(report) and os.path.getsize(report):
            with open(report) as file:
                answer = json.load(file)
            error = answer.get("error", "")
        assert code == 0 and said == "", "%s: exit code %d: %s %s" % (scene["name"], code, said, error)
        motion = Motion(scene, answer, *read_frames(frames), seconds)
    w = answer["wall"]
    print("   %-22s %5.2f s in %6.3f s of processor: %6.1f x real time, worst step %6.1f ms; joints %.1e, deepest %.1e, contacts %d" % (
        scene["name"], answer["time"], seconds, answer["time"] / max(seconds, 1e-9), 1e3 * w["per_step_max"], answer["joint_error"]["max"],
        answer["contacts"]["deepest"], answer["contacts"]["max"]), flush=True)
    return motion


# Checks: each says what came and what should have come.

def near(what, got, wanted, tolerance):
    """Within an absolute tolerance."""
    assert abs(got - wanted) <= tolerance, "%s: %.9g, should be %.9g within %g" % (what, got, wanted, tolerance)


def close(what, got, wanted, relative):
    near(what, got, wanted, relative * abs(wanted))


def below(what, got, bound):
    assert got <= bound, "%s: %.6g, should be at most %g" % (what, got, bound)


def sound(motion, deepest=1e-3):
    """What holds of any machine: joints closed, nothing inside anything else."""
    below("joint error of %s" % motion.report["joint_error"]["joint"], motion.report["joint_error"]["max"], 1e-6)
    below("deepest contact or limit", motion.report["contacts"]["deepest"], deepest)


def never_rises(motion, put_in=0.0):
    """Energy never climbs above what it once was by more than what is put in. Joints and contacts are closed to 1e-8 m or better,
    and energies are uncertain by this times the weight."""
    low, energies = math.inf, motion.energies()
    for time, e in zip(motion.series["time"], energies):
        low = min(low, e)
        assert e - low <= put_in + 1e-8 * motion.weight, "energy up by %.6g J at %.3f s, %.6g J put in" % (e - low, time, put_in)


def root(f, a, b):
    """A zero of f between a and b, by bisection."""
    fa = f(a)
    assert fa * f(b) <= 0, "no change of sign"
    for _ in range(200):
        c = 0.5 * (a + b)
        fc = f(c)
        if (fc > 0) == (fa > 0):
            a, fa = c, fc
        else:
            b = c
    return 0.5 * (a + b)


def lowest(f, a, b):
    """Where f, which has one valley between a and b, is lowest."""
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(120):
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        if f(c) < f(d):
            b = d
        else:
            a = c
    return 0.5 * (a + b)
