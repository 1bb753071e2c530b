"""tenon plot, and the series of a report: drawings are read back as XML and their lines compared with the motion.

TENON in the environment names the program; an argument filters the tests by name.
"""
import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from tests import main, test

TENON = os.environ["TENON"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEYS = ["time", "kinetic", "gravity", "elastic", "joint_error", "velocity_error", "step_seconds", "contacts", "active"]



def tenon(*args):
    return subprocess.run([TENON, *map(str, args)], capture_output=True, text=True, timeout=300)


def good(*args):
    done = tenon(*args)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def refused(*args, says):
    done = tenon(*args)
    assert done.returncode == 2 and done.stdout == "", (done.returncode, done.stdout)
    assert done.stderr.startswith("tenon: ") and done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr, done.stderr


def write(path, value):
    with open(path, "w") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))
    return path


def report(scene, *args):
    return json.loads(good("run", scene, "--report", "-", "--series", *args))


class Drawing:
    """Panels by their titles: lines in pixels, and ticks (pixel, text) of y."""

    def __init__(self, path):
        text = open(path).read()
        assert "http" not in text.replace("http://www.w3.org/2000/svg", ""), "nothing from outside"
        assert "nan" not in text.lower() and "inf" not in re.sub(r"infl|info", "", text.lower()), "a number is missing"
        root = ElementTree.fromstring(text)
        self.size = float(root.get("width")), float(root.get("height"))
        self.panels, self.x_ticks, panel = {}, [], None
        for e in root:
            kind, words = e.get("class") or "", "".join(e.itertext())
            if kind == "head":
                panel = self.panels[words] = {"lines": [], "ticks": [], "labels": []}
            elif kind == "tick" and e.get("text-anchor") == "end":
                panel["ticks" if re.match("[\u22120-9]", words) else "labels"].append((float(e.get("y")) - 3.5, words))
            elif kind == "tick" and words != "time [s]":
                self.x_ticks.append((float(e.get("x")), float(words)))
            elif kind.startswith("line") and "h18" not in e.get("d"):
                panel["lines"].append([tuple(map(float, p.split())) for p in re.split("[ML]", e.get("d")) if p])
        for p in self.panels.values():
            for line in p["lines"]:
                assert all(0 <= x <= self.size[0] and 0 <= y <= self.size[1] for x, y in line)

    def time(self, x):
        (a, s), (b, t) = self.x_ticks[0], self.x_ticks[-1]
        return s + (x - a) * (t - s) / (b - a)

    def value(self, panel, y):
        """What a linear axis says."""
        numbers = [(at, float(words.replace("\u2212", "-"))) for at, words in self.panels[panel]["ticks"]]
        (a, s), (b, t) = numbers[0], numbers[-1]
        return s + (y - a) * (t - s) / (b - a)

    def curve(self, panel, line=0):
        return [(self.time(x), self.value(panel, y)) for x, y in self.panels[panel]["lines"][line]]


@test
def a_report_has_series_when_asked():
    assert "series" not in json.loads(good("run", "@fourbar", "--h", 0.001, "--duration", 0.1, "--report", "-"))
    r = report("@fourbar", "--h", 0.001, "--duration", 0.5)
    s = r["series"]
    assert list(s) == KEYS and {len(v) for v in s.values()} == {501}
    assert s["time"][0] == 0 and s["time"][-1] == 0.5 and s["step_seconds"][0] is None
    assert max(s["joint_error"]) == r["joint_error"]["max"] and max(s["velocity_error"]) == r["velocity_error"]["max"]
    assert s["kinetic"][-1] + s["gravity"][-1] + s["elastic"][-1] == r["energy"]["final"]
    assert math.isclose(sum(s["step_seconds"][1:]), r["wall"]["total"], rel_tol=1e-6)


@test
def long_series_are_thinned_and_lose_no_peak():
    r = report("@fourbar", "--h", 0.001, "--duration", 5)
    s = r["series"]
    assert 500 < len(s["time"]) <= 1000 and s["time"][-1] == 5
    assert max(s["joint_error"]) == r["joint_error"]["max"], "the largest error is kept"
    r = report("@boxes", "--duration", 20, "--h", 0.01)
    assert max(r["series"]["contacts"]) == r["contacts"]["max"] > 0
    r = report("@pendulum:n=30", "--method", "adaptive", "--set", "adaptive.active=5", "--duration", 0.2, "--h", 0.001)
    assert max(r["series"]["active"]) == r["adaptive"]["active"]["max"] == 5


@test
def lines_are_the_motion():
    good("plot", "@fourbar", "--h", 0.001, "--duration", 2, "--of", "energy,height:coupler,speed:coupler,position:O,velocity:O", "--out", "a.svg")
    drawing, s = Drawing("a.svg"), report("@fourbar", "--h", 0.001, "--duration", 2)["series"]
    assert list(drawing.panels) == ["energy [J]", "height of coupler [m]", "speed of coupler [m/s]", "position of O [rad]", "velocity of O [rad/s]"]
    assert [w for _, w in drawing.panels["energy [J]"]["labels"]] == ["total", "potential", "kinetic"]
    for line, keys in enumerate((["kinetic"], ["gravity", "elastic"], ["kinetic", "gravity", "elastic"])):
        curve = drawing.curve("energy [J]", line)
        assert len(curve) > 100 or line == 2
        for t, v in curve:
            i = min(range(len(s["time"])), key=lambda i: abs(s["time"][i] - t))
            assert abs(sum(s[k][i] for k in keys) - v) < 0.1, (t, v)
    good("run", "@fourbar", "--h", 0.001, "--duration", 2, "--trajectory", "t.csv", "--quiet")
    rows = [line.split(",") for line in open("t.csv").read().splitlines()]
    column = rows[0].index("coupler.z")
    for t, v in drawing.curve("height of coupler [m]"):
        assert abs(float(rows[1 + round(t * 1000)][column]) - v) < 0.01, (t, v)
    turn, rate = drawing.curve("position of O [rad]"), drawing.curve("velocity of O [rad/s]")
    middle = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(rate, rate[1:]))
    assert abs(turn[-1][1] - turn[0][1] - middle) < 0.05, "the velocity is the rate of the position"


@test
def a_hanging_weight_pulls_with_its_weight():
    scene = write("hang.json", {"tenon_scene": 1, "bodies": [{"name": "bob", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, -1]}],
                                "joints": [{"name": "hook", "type": "ball", "bodies": ["ground", "bob"], "anchor": [0, 0, 0]}]})
    good("plot", scene, "--duration", 1, "--of", "force:hook", "--out", "a.svg")
    for _, v in Drawing("a.svg").curve("force in hook [N]"):
        assert abs(v - 2 * 9.81) < 0.01


@test
def being_plotted_does_not_change_the_motion():
    for scene in ("@boxes", "@robot", "@strandbeest:legs=2,walk=on"):
        joint = json.loads(good("run", scene, "--duration", 0.5, "--report", "-"))
        of = "energy" if not joint["joints"] else "force:" + joint["joints"][0]["name"]
        said = good("plot", scene, "--duration", 0.5, "--of", of, "--out", "a.svg")
        assert joint["hash"] in said


@test
def a_report_is_drawn_without_a_simulation():
    good("run", "@fourbar", "--h", 0.001, "--duration", 1, "--report", "r.json", "--series", "--quiet")
    assert good("plot", "r.json", "--out", "a.svg", "--of", "energy,error,velocity_error,step,contacts,active") == ""
    good("plot", "@fourbar", "--h", 0.001, "--duration", 1, "--out", "b.svg", "--of", "energy,error", "--quiet")
    a, b = Drawing("a.svg"), Drawing("b.svg")
    assert len(a.panels) == 6
    assert "fourbar" in open("a.svg").read() and "1000 steps" in open("a.svg").read()
    first = [t for t in a.curve("energy [J]")]
    for (t, v), (t2, v2) in zip(first, b.curve("energy [J]")):
        assert abs(t - t2) < 1e-9 and abs(v - v2) < 0.05


@test
def errors_are_on_a_logarithmic_axis():
    good("plot", "@robot", "--duration", 1, "--of", "error", "--out", "a.svg")
    panel = Drawing("a.svg").panels["joint error [m or rad]"]
    assert any(words.startswith("10\u2212") for _, words in panel["ticks"]), panel["ticks"]
    free = write("free.json", {"tenon_scene": 1, "bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1]}]})
    good("plot", free, "--duration", 0.1, "--of", "error,energy,contacts", "--out", "a.svg")  # all zero
    assert Drawing("a.svg").panels["joint error [m or rad]"]["lines"]
    good("plot", free, "--duration", 0, "--out", "a.svg")  # one sample
    Drawing("a.svg")


@test
def names_are_escaped():
    scene = write("odd.json", {"tenon_scene": 1, "name": "a<b>&\"c\"", "bodies": [{"name": "x<&>", "mass": 1, "inertia": [1, 1, 1]}]})
    good("plot", scene, "--duration", 0.1, "--of", "height:x<&>", "--out", "a.svg")
    assert "height of x<&> [m]" in Drawing("a.svg").panels


@test
def sizes_are_obeyed():
    good("plot", "@fourbar", "--duration", 0.1, "--width", 400, "--height", 333, "--out", "a.svg", "--quiet")
    assert Drawing("a.svg").size == (400, 333)
    refused("plot", "@fourbar", "--width", 5, "--out", "a.svg", says="--width")
    refused("plot", "@fourbar", "--width", 0, "--out", "a.svg", says="--width")


@test
def wrong_words_cost_one_line_each():
    refused("plot", "@fourbar", says="needs --out")
    refused("plot", "@fourbar", "--out", "a.png", says=".svg")
    refused("plot", "@fourbar", "--out", "-", says=".svg")
    refused("plot", "a.svg", "--out", "a.svg", says="it is the scene")
    refused("plot", "@fourbar", "--out", "no/where/a.svg", says="no/where")
    refused("plot", "@fourbar", "--of", "energi", "--out", "a.svg", says="did you mean 'energy'")
    refused("plot", "@fourbar", "--of", "energy,", "--out", "a.svg", says="--of")
    refused("plot", "@fourbar", "--of", "colour", "--out", "a.svg", says="position:JOINT")
    refused("plot", "@fourbar", "--of", ",".join(["energy"] * 13), "--out", "a.svg", says="more than 12")
    refused("plot", "@robot", "--of", "force:left_elbov", "--out", "a.svg", says="did you mean 'left_elbow'")
    refused("plot", "@fourbar", "--of", "height:cranc", "--out", "a.svg", says="did you mean 'crank'")
    refused("plot", "@robot", "--of", "position:stand", "--out", "a.svg", says="no free coordinates")
    refused("run", "@fourbar", "--series", says="--report")
    refused("plot", "nowhere.json", "--out", "a.svg", says="nowhere.json")


@test
def reports_that_will_not_do_are_refused():
    good("run", "@fourbar", "--duration", 0.1, "--report", "plain.json", "--quiet")
    refused("plot", "plain.json", "--out", "a.svg", says="--series")
    good("run", "@fourbar", "--duration", 0.1, "--report", "r.json", "--series", "--quiet")
    refused("plot", "r.json", "--of", "force:O", "--out", "a.svg", says="plot the scene")
    refused("plot", "r.json", "--h", 0.1, "--out", "a.svg", says="nothing is simulated")
    refused("plot", "r.json", "--out", "r.json", says=".svg")
    text = open("r.json").read()
    cut = text.index('"series"')
    for broken in (text[:cut + 300], text.replace('"kinetic"', '"kinetics"'), text.replace('"time": [0, ', '"time": ['),
                   text.replace('"time": [0,', '"time": [x,'), text[:40], text.replace('"series": {', '"series": [')):
        refused("plot", write("broken.json", broken), "--out", "a.svg", says="broken.json")
    for i in range(0, len(text), len(text) // 60):  # cut anywhere
        done = tenon("plot", write("broken.json", text[:i]), "--out", "a.svg")
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (i, done.returncode, done.stderr)


if __name__ == "__main__":
    sys.exit(main())
