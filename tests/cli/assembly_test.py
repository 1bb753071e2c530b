"""Scenes that do not close, through the program: run, accel and check put them together, or refuse them
with one line that names the scene and the joint.

TENON in the environment names the program; an argument filters the tests by name.
"""
import base64
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile

from tests import main, test

TENON = os.environ["TENON"]


def tenon(*args, stdin):
    done = subprocess.run([TENON, *args], input=stdin.encode(), capture_output=True, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def report_of(*args, stdin):
    code, out, err = tenon(*args, stdin=stdin)
    assert code == 0 and err == "", (code, err)
    return json.loads(out)


def bar(name, length, position):
    return {"name": name, "mass": 1, "inertia": [1e-3, length**2 / 12, length**2 / 12], "position": position}


def pin(name, body1, at1, body2, at2, kind="hinge"):
    return {"name": name, "type": kind, "bodies": [body1, body2], "frames": [{"position": at1}, {"position": at2}]}


def fourbar(ground, **more):
    """Bars of 0.3, 0.8 and 0.6 m along their own x axes, near their places but not in them; hinged about z."""
    bodies = [bar("crank", 0.3, [0.05, 0.2, 0]), bar("coupler", 0.8, [0.4, 0.4, 0.1]), bar("rocker", 0.6, [1, 0.3, 0])]
    joints = [pin("O", "ground", [0, 0, 0], "crank", [-0.15, 0, 0]), pin("B", "crank", [0.15, 0, 0], "coupler", [-0.4, 0, 0]),
              pin("C", "coupler", [0.4, 0, 0], "rocker", [-0.3, 0, 0]), pin("D", "ground", [ground, 0, 0], "rocker", [0.3, 0, 0])]
    return json.dumps({"tenon_scene": 1, "name": "ring", "gravity": [0, -9.81, 0], "bodies": bodies, "joints": joints,
                       "method": {"h": 0.001, "duration": 0.01}, **more})


CLOSES, CANNOT = fourbar(0.8), fourbar(2)  # the bars reach 1.7 m
ASSEMBLY = {"before", "after", "moved", "turned", "rounds", "body"}


def check_assembly(answer):
    assert set(answer) == ASSEMBLY, answer
    assert answer["before"] > 0.1 and 0 <= answer["after"] < 1e-13 and answer["rounds"] > 0
    assert answer["moved"] > 0.01 and answer["turned"] > 0.01 and answer["body"] in ("crank", "coupler", "rocker")


def place(b, point):
    """A point of a body in the world."""
    w, x, y, z = b["orientation"]
    t = [2 * (y * point[2] - z * point[1]), 2 * (z * point[0] - x * point[2]), 2 * (x * point[1] - y * point[0])]
    turned = [point[0] + w * t[0] + y * t[2] - z * t[1], point[1] + w * t[1] + z * t[0] - x * t[2],
              point[2] + w * t[2] + x * t[1] - y * t[0]]
    return [p + q for p, q in zip(b["position"], turned)]


@test
def a_run_puts_the_joints_together_first():
    report = report_of("run", "-", "--report", "-", stdin=CLOSES)
    check_assembly(report["assembly"])
    assert report["steps"] == 10 and report["joint_error"]["max"] < 1e-9
    crank, coupler, rocker = report["bodies"]
    for a, b in (([0, 0, 0], place(crank, [-0.15, 0, 0])), (place(crank, [0.15, 0, 0]), place(coupler, [-0.4, 0, 0])),
                 (place(coupler, [0.4, 0, 0]), place(rocker, [-0.3, 0, 0])), ([0.8, 0, 0], place(rocker, [0.3, 0, 0]))):
        assert math.dist(a, b) < 1e-10, (a, b)
    code, out, err = tenon("run", "-", stdin=CLOSES)
    lines = [line for line in out.splitlines() if line.startswith("assembled")]
    assert code == 0 and len(lines) == 1 and "joint error 0." in lines[0] and "moved by at most" in lines[0], out


def world(poses, body, point):
    """A point of a body, in the world."""
    if body < 0:
        return point
    *x, w, i, j, k = poses[7 * body:7 * body + 7]
    cross = lambda a, b: [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    t = [2 * c for c in cross([i, j, k], point)]
    u = cross([i, j, k], t)
    return [x[n] + point[n] + w * t[n] + u[n] for n in range(3)]


@test
def the_page_shows_the_assembled_mechanism():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.html")
        code, _, err = tenon("run", "-", "--quiet", "--html", path, stdin=CLOSES)
        assert code == 0 and err == "", err
        with open(path) as page:
            data = json.loads(re.search(r'<script id="tenon-data"[^>]*>(.*?)</script>', page.read(), re.S).group(1))
    poses = struct.unpack_from("<21f", base64.b64decode(data["frames"]), 112)
    for joint in data["mechanism"]["joints"]:
        a, b = (world(poses, body, at) for body, at in zip(joint["bodies"], joint["anchors"]))
        assert math.dist(a, b) < 2e-6, (joint["name"], a, b)  # seven digits
    assert len(data["mechanism"]["joints"]) == 4


@test
def a_check_tells_no_rows_of_what_cannot_be_put_together():
    code, out, _ = tenon("check", "-", stdin=CANNOT)
    assert code == 2 and "cannot be assembled" in out
    assert "Mobility" not in out and "Contradiction" not in out, out


@test
def accelerations_are_those_of_the_assembled_mechanism():
    answer = report_of("accel", "-", stdin=CLOSES)
    check_assembly(answer["assembly"])
    assert len(answer["bodies"]) == 3 and len(answer["joints"]) == 4


@test
def what_closes_is_left_alone():
    assert "assembly" not in report_of("run", "@fourbar", "--duration", "0.01", "--report", "-", stdin="")
    assert "assembly" not in report_of("accel", "@fourbar", stdin="")
    assert report_of("check", "@fourbar", "--report", "-", stdin="")["assembly"] is None
    assert "assembled" not in tenon("run", "@fourbar", "--duration", "0.01", stdin="")[1]


@test
def without_projection_a_run_begins_as_told():
    report = report_of("run", "-", "--method", "multiplier", "--set", "multiplier.project=false", "--duration", "0.001", "--report", "-", stdin=CLOSES)
    assert "assembly" not in report and report["joint_error"]["max"] > 0.1


@test
def what_cannot_close_is_refused_in_one_line():
    for args in (["run", "-"], ["run", "-", "--report", "left.json"], ["accel", "-"]):
        code, out, err = tenon(*args, stdin=CANNOT)
        assert code == 2 and out == "" and err.count("\n") == 1, (code, out, err)
        assert err.startswith("tenon: <stdin>: joint '") and "cannot close" in err and "0.3 m apart" in err, err
    assert not os.path.exists("left.json")  # the input is wrong: nothing is written


@test
def check_tells_whether_it_closes():
    code, out, err = tenon("check", "-", stdin=CLOSES)
    assert code == 0 and err == "" and "do not meet at the start" in out and "begins by assembling them" in out, out
    assert "Mobility 1" in out  # of the mechanism, not of its parts
    answer = report_of("check", "-", "--report", "-", stdin=CLOSES)
    check_assembly(answer["assembly"])
    assert answer["assembled"] is True and answer["joint_error"]["max"] < 1e-13
    code, out, err = tenon("check", "-", stdin=CANNOT)
    assert code == 2 and "cannot close" in out and err.count("\n") == 1 and "cannot close" in err, (out, err)
    code, out, err = tenon("check", "-", "--report", "-", stdin=CANNOT)
    answer = json.loads(out)
    assert code == 2 and answer["assembled"] is False
    assert answer["assembly"]["joint"] in "OBCD" and "0.3 m apart" in answer["assembly"]["why"], answer


@test
def hinges_at_odds_are_refused_with_their_names():
    bodies = [bar("a", 1, [0, 0, 0]), bar("b", 1, [0, 0, 0])]
    joints = [pin("first", "a", [-0.5, 0, 0], "b", [-0.5, 0, 0]), pin("second", "a", [0.5, 0, 0], "b", [0.75, 0, 0])]
    text = json.dumps({"tenon_scene": 1, "bodies": bodies, "joints": joints})
    code, out, err = tenon("run", "-", stdin=text)
    assert code == 2 and "joint 'second' cannot close" in err and "0.25 m" in err and "'first'" in err, err


@test
def a_long_rope_is_no_open_joint():
    bodies = [bar("a", 1, [0, 0, -2])]
    rope = {"name": "rope", "type": "rope", "bodies": ["ground", "a"], "anchors": [[0, 0, 0], [0, 0, 0]], "length": 1}
    text = json.dumps({"tenon_scene": 1, "bodies": bodies, "joints": [rope], "method": {"h": 0.001, "duration": 0.001}})
    assert "assembly" not in report_of("run", "-", "--report", "-", stdin=text)


if __name__ == "__main__":
    sys.exit(main())
