"""The program from outside: every promise of the command line that a user or a script relies on.

TENON in the environment names the program; an argument filters the tests by name.
"""
import base64
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from tests import main, test

TENON = os.environ["TENON"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))



class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()

    def json(self):
        return parse(self.out)


def parse(text):
    def refuse(word):
        raise AssertionError("not JSON: " + word)

    return json.loads(text, parse_constant=refuse)


def tenon(*args, stdin=None):
    data = stdin.encode() if isinstance(stdin, str) else stdin
    return Result(subprocess.run([TENON, *map(str, args)], input=data or b"", capture_output=True, timeout=300))


def run(*args, **more):
    """A run that must go well; its report."""
    result = tenon("run", *args, "--report", "-", **more)
    assert result.code == 0, result.err
    return result.json()


def refused(*args, says=(), code=2, **more):
    """Exit 2, nothing on standard output, one line on standard error that holds every word of says."""
    result = tenon(*args, **more)
    assert result.code == code, (result.code, result.err)
    assert result.out == "", result.out
    assert result.err.startswith("tenon: ") and result.err.count("\n") == 1, result.err
    for word in [says] if isinstance(says, str) else says:
        assert word in result.err, (word, result.err)


def near(a, b, tolerance):
    assert abs(a - b) <= tolerance, (a, b, tolerance)


def wait_for(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def body(**more):
    return {"name": "link", "mass": 1, "inertia": [0.1, 0.1, 0.1], **more}


def scene(bodies, joints=(), **more):
    return json.dumps({"tenon_scene": 1, "bodies": bodies, "joints": list(joints), **more})


HINGE = {"name": "pin", "type": "hinge", "bodies": ["ground", "link"], "anchor": [0, 0, 0], "axis": [0, 1, 0]}
FREE = scene([body()])
PENDULUM = scene([body(position=[1, 0, 0])], [HINGE])


def motor(name, velocity):
    return {**HINGE, "name": name, "type": "motor", "of": "hinge", "velocity": velocity}


def rising_to(velocity):
    return {"keys": [{"time": 0, "value": 0}, {"time": 1, "value": velocity}]}


# Two motors that want two speeds of one body; and two that want two accelerations of it.
QUARREL = scene([body(position=[1, 0, 0])], [motor("slow", 1), motor("fast", 2)])
HURRY = scene([body(position=[1, 0, 0])], [motor("slow", rising_to(1)), motor("fast", rising_to(2))])


# ---- Help and the command line ---------------------------------------------------------------------


@test
def help_is_on_standard_output():
    for args in (["--help"], ["-h"], ["help"]):
        result = tenon(*args)
        assert result.code == 0 and "tenon run SCENE" in result.out and result.err == ""
    for command in ("run", "view", "accel", "check", "scene", "bench"):
        for args in (["help", command], [command, "--help"], [command, "-h"]):
            result = tenon(*args)
            assert result.code == 0 and result.out.startswith("tenon " + command), (args, result.out)
            assert "    tenon " + command in result.out, "no example"


@test
def settings_are_listed_everyday_ones_first():
    result = tenon("help", "settings")
    assert result.code == 0 and result.err == ""
    everyday, variants = result.out.split("\nVariants of the papers")
    keys = [re.findall(r"^    ([a-z_.]+) ", part, re.M) for part in (everyday, variants)]
    assert keys[0][:3] == ["method", "h", "duration"] and "impulse.tolerance" in keys[0], keys
    assert {"multiplier.loops", "impulse.formulation", "implicit.form", "adaptive.solver", "adaptive.bounded"} <= set(keys[1])
    assert len(keys[0]) > len(keys[1]) and not set(keys[0]) & set(keys[1])
    for command in ("run", "view", "check"):  # all of it stands at the end of their pages
        assert tenon("help", command).out.endswith(result.out)
    for key in keys[0][3:] + keys[1]:  # every one can be set: a wrong value is refused by its name
        refused("run", "@chain", "--set", key + "=?", says=key)
    refused("run", "@chain", "--set", "impulse.alpha=norm", says="impulse.alpha")


@test
def version_is_that_of_the_header():
    header = open(os.path.join(ROOT, "include/tenon/base.h")).read()
    version = re.search(r'TN_VERSION "(.*)"', header).group(1)
    assert tenon("--version").out == "tenon %s\n" % version
    assert run("@chain", "--duration", 0)["tenon"] == version


@test
def unknown_words_are_named_with_the_nearest():
    refused("rnu", "@chain", says=["'rnu'", "'run'"])
    refused("frobnicate", says="'frobnicate'")
    refused("help", "chekc", says=["'chekc'", "'check'"])
    refused("run", "@chain", "--durration", "1", says=["'--durration'", "'--duration'"])
    refused("run", "@chain", "--reprot=x", says=["'--reprot'", "'--report'"])
    refused("run", "@chian", says=["chian", "chain"])
    refused("run", "@chain:m=3", says=["'m'"])
    refused("run", "@chain:joint=bal", says=["bal", "ball"])
    refused("scene", "chian", says=["chian", "chain"])
    refused("bench", "humanid", says=["'humanid'", "'humanoid'"])
    refused("bench", "chain", "more", says=["'more' after 'chain'"])
    refused("run", "@chain", "--set", "multiplier.integratr=rk4", says=["multiplier.integratr", "multiplier.integrator"])
    refused("run", "@chain", "--set", "multiplier.integrator=rk", says=["--set", "rk4"])
    refused("run", "@chain", "--method", "multiplyer", says=["--method", "'multiplier'"])


@test
def bad_values_are_refused():
    for option, value in [("--h", "0"), ("--h", "-1"), ("--h", "nan"), ("--h", "inf"), ("--h", "1x"), ("--h", ""),
                          ("--duration", "-1"), ("--duration", "1e999"), ("--threads", "1025"), ("--threads", "two"),
                          ("--threads", "99999999999999999999"), ("--seed", "-1"), ("--seed", "1.5"), ("--every", "0"),
                          ("--set", "h"), ("--set", "=1"), ("--report", ""), ("--method", "")]:
        refused("run", "@chain", option, value, says=option)
        refused("run", "@chain", "%s=%s" % (option, value), says=option)
    refused("run", "@chain", "--h", "1e-300", "--duration", "1e300", says="steps")
    refused("run", "@chain", "--quiet=yes", says="--quiet")


@test
def missing_and_surplus_arguments_are_refused():
    refused(says="--help")
    refused("run", says="needs a scene")
    refused("accel", says="needs a scene")
    refused("scene", says="--list")
    refused("run", "@chain", "--h", says="--h")
    refused("run", "@chain", "--report", "--quiet", says="--report")
    refused("run", "@chain", "@tree", says="'@tree'")
    refused("run", "", says="tenon: ")
    refused("--quiet", "run", says="--quiet")
    refused("accel", "@chain", "--html", "x.html", says=["--html", "accel"])
    refused("run", "@chain", *(["--set", "h=0.1"] * 65), says="settings")


@test
def options_take_both_forms_and_the_last_wins():
    report = run("@chain", "--h=0.01", "--duration", "0.5", "--h", "0.02", "--threads=3", "--seed", "7")
    assert report["h"] == 0.02 and report["steps"] == 25 and report["time"] == 0.5
    assert run("-", "--set", "h=0.125", "--set=duration=1", stdin=FREE)["steps"] == 8


@test
def a_method_that_is_named_brings_its_step():
    assert run("@fourbar", "--duration", "0.1")["h"] == 1 / 60
    for method in ("multiplier", "impulse", "implicit"):
        assert run("@fourbar", "--method", method, "--duration", "0.01")["h"] == 0.001
        assert run("@fourbar", "--h", "0.016666666666666666", "--method", method, "--duration", "0.1")["h"] == 1 / 60, "any order"
    for text, h in (({}, 1 / 60), ({"name": "impulse"}, 0.001), ({"h": 1 / 60, "name": "impulse"}, 1 / 60), ({"name": "auto", "h": 0.001}, 0.001)):
        told = json.loads(FREE)
        told["method"] = text
        assert run("-", "--duration", "0", stdin=json.dumps(told))["h"] == h, text


@test
def a_method_of_a_later_version_is_refused():
    for method in ("implicit", "impulse", "adaptive"):
        result = tenon("run", "@chain", "--method", method, "--duration", "0.01", "--quiet")
        assert result.code in (0, 2), result.err
        if result.code == 2:
            assert result.err.count("\n") == 1 and method in result.err


# ---- Input -----------------------------------------------------------------------------------------


@test
def errors_of_a_file_name_line_and_column():
    with open("bad.json", "w") as file:
        file.write('{\n  "tenon_scene": 1,\n  "bodies": [{"mas": 1}]\n}\n')
    refused("run", "bad.json", says=["tenon: bad.json:3:", "mas", "mass"])
    refused("check", "bad.json", says="tenon: bad.json:3:")
    refused("run", "-", stdin='{"tenon_scene": 1,\n "bodies": [}', says="<stdin>:2:")
    refused("run", "-", stdin="", says="<stdin>")
    refused("run", "-", stdin=b"\xff\xfe\x00", says="<stdin>")
    refused("run", "none.json", says="none.json")
    assert tenon("run", "none.json").err.count("none.json") == 1
    refused("run", ".", says="'.'")


@test
def errors_of_a_mechanism_name_the_element():
    refused("run", "-", stdin=scene([body(mass=-1)]), says=["<stdin>", "link"])
    joint = {**HINGE, "bodies": ["ground", "lnik"]}
    refused("run", "-", stdin=scene([body()], [joint]), says=["lnik"])
    joint = {**HINGE, "axis": [0, 0, 0]}
    refused("run", "-", stdin=scene([body()], [joint]), says=["pin"])


@test
def a_message_stays_one_line_whatever_the_names_hold():
    joint = {**HINGE, "name": "a\nb\tc\u0007", "axis": [0, 0, 0]}
    refused("run", "-", stdin=scene([body()], [joint]))
    refused("run", "no\nfile\r.json", says="no?file?.json")
    refused("run", "@chain", "--set", "a\nb=c", says="--set")


# ---- The report ------------------------------------------------------------------------------------

KEYS = {
    "tenon": str, "scene": str, "method": str, "h": float, "steps": int, "time": float,
    "counts": {"bodies": int, "joints": int, "rows": int, "dofs": int, "redundant": int, "loops": int},
    "wall": {"total": float, "per_step_median": float, "per_step_min": float, "per_step_max": float,
             "phases": {"kinematics": float, "assemble": float, "factor": float, "solve": float, "collide": float,
                        "columns": float, "contact": float}},
    "joint_error": {"max": float, "final": float, "joint": str}, "velocity_error": {"max": float},
    "energy": {"initial": float, "final": float, "max_drift": float}, "iterations": {"mean": float, "max": int},
    "contacts": {"max": int, "deepest": float, "residual": float}, "suspect": list, "impacts": int, "events": int, "coarse": int, "jams": int,
    "auxiliary": {"rows": int, "dependent": int, "complementarity": float}, "memory": {"bytes": int, "allocations_in_steps": int},
    "hash": str, "bodies": list, "joints": list}


def check_keys(value, keys, path=""):
    assert set(value) >= set(keys), (path, set(keys) - set(value))
    for key, kind in keys.items():
        if isinstance(kind, dict):
            check_keys(value[key], kind, path + "." + key)
        else:
            wanted = (int, float) if kind is float else kind
            assert isinstance(value[key], wanted), (path, key, value[key])


@test
def the_report_has_every_promised_key():
    report = run("@chain", "--duration", "0.1")
    check_keys(report, KEYS)
    assert "error" not in report
    assert report["scene"] == "chain" and report["method"] == "auto"
    assert set(report["auto"]) == {"loops", "stiff_rows", "contacts"} and report["suspect"] == []
    assert re.fullmatch("[0-9a-f]{16}", report["hash"])
    counts = report["counts"]
    assert counts == {"bodies": 10, "joints": 10, "rows": 30, "dofs": 30, "redundant": 0, "loops": 0}
    assert len(report["bodies"]) == 10 and len(report["joints"]) == 10
    for b in report["bodies"]:
        assert set(b) == {"name", "position", "orientation", "velocity", "angular_velocity"}
        assert [len(b[k]) for k in ("position", "orientation", "velocity", "angular_velocity")] == [3, 4, 3, 3]
    for j in report["joints"]:
        assert set(j) == {"name", "error", "force", "torque", "position", "velocity"}
        assert len(j["force"]) == len(j["torque"]) == 3 and len(j["position"]) == len(j["velocity"]) > 0
    assert report["joint_error"]["joint"] in [j["name"] for j in report["joints"]]
    wall = report["wall"]
    assert 0 < wall["per_step_min"] <= wall["per_step_median"] <= wall["per_step_max"] <= wall["total"]
    assert sum(wall["phases"].values()) <= 1.01 * wall["total"]
    assert report["memory"]["bytes"] > 1000 and report["memory"]["allocations_in_steps"] == 0


@test
def dofs_and_redundant_are_those_of_the_mechanism():
    counts = run("@fourbar", "--duration", "0")["counts"]  # three links in space, four hinges
    assert counts == {"bodies": 3, "joints": 4, "rows": 20, "dofs": 1, "redundant": 3, "loops": 1}, counts


@test
def the_number_of_steps_is_the_rounded_quotient():
    for h, duration, steps in [("0.003", "0.01", 3), ("0.004", "0.01", 3), ("0.1", "0.3", 3), ("1", "0.4", 0)]:
        report = run("-", "--h", h, "--duration", duration, stdin=FREE)
        assert report["steps"] == steps and report["time"] == steps * float(h), report["time"]


@test
def no_steps_still_make_a_report():
    report = run("-", "--duration", "0", stdin=PENDULUM)
    check_keys(report, KEYS)
    assert report["steps"] == 0 and report["time"] == 0 and report["wall"]["total"] == 0
    assert report["bodies"][0]["position"] == [1, 0, 0]
    near(report["joints"][0]["force"][2], 9.81 * 0.1 / 1.1, 1e-12)  # I / (I + m r^2) of the weight


@test
def a_scene_without_joints_is_fine():
    report = run("-", "--duration", "1", "--h", "0.01", stdin=scene([body(velocity=[1, 0, 0])]))
    assert report["joint_error"] == {"max": 0, "final": 0, "joint": None}
    assert report["counts"]["dofs"] == 6 and report["joints"] == []
    for value, wanted in zip(report["bodies"][0]["position"], [1, 0, -9.81 / 2]):
        near(value, wanted, 1e-12)
    report = run("-", stdin=scene([]))
    assert report["bodies"] == [] and report["counts"]["dofs"] == 0


@test
def only_the_report_goes_to_standard_output():
    result = tenon("run", "@chain", "--duration", "0.01", "--report", "-")
    assert result.code == 0 and result.err == "" and result.out.endswith("}\n")
    result.json()


@test
def a_summary_is_told_unless_quiet():
    result = tenon("run", "@chain", "--duration", "0.01", "--report", "r.json")
    assert result.code == 0 and result.err == ""
    report = parse(open("r.json").read())
    for word in ("chain", report["hash"], "x real time", "joint error", "r.json", "10 bodies"):
        assert word in result.out, word
    result = tenon("run", "@chain", "--duration", "0.01", "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")


@test
def names_survive_the_report():
    name = 'a"b\\c\u00e9</script>'
    report = run("-", "--duration", "0", stdin=scene([body(name=name)], name=name))
    assert report["scene"] == name and report["bodies"][0]["name"] == name


@test
def the_same_run_has_the_same_hash():
    args = ("--duration", "0.2", "--h", "0.01")
    first = run("@chain:n=5", *args)["hash"]
    assert run("@chain:n=5", *args)["hash"] == first
    assert run("@chain:n=5", *args, "--html", "same.html", "--trajectory", "same.csv")["hash"] == first
    assert run("-", *args, stdin=tenon("scene", "chain:n=5").out)["hash"] == first
    assert run("@chain:n=6", *args)["hash"] != first


# ---- Files -----------------------------------------------------------------------------------------


@test
def files_that_cannot_be_written_are_told_before_the_simulation():
    for option in ("--report", "--trajectory", "--html"):
        refused("run", "@chain", "--duration", "1e9", option, "no/such/place.csv", says="no/such/place.csv")  # which never ends
    refused("accel", "@chain", "--report", "no/such/place", says="no/such/place")
    refused("check", "@chain", "--report", "no/such/place", says="no/such/place")
    refused("bench", "chain", "--csv", "no/such/place", says="no/such/place")


@test
def outputs_do_not_overwrite_the_scene_or_each_other():
    with open("own.json", "w") as file:
        file.write(PENDULUM)
    refused("run", "own.json", "--report", "own.json", says="own.json")
    assert open("own.json").read() == PENDULUM
    refused("run", "@chain", "--report", "one", "--html", "one", says="one")
    refused("run", "@chain", "--html", "-", says="--html")
    refused("run", "@chain", "--trajectory", "-", says="--trajectory")


@test
def the_trajectory_keeps_every_kth_step():
    for every, rows in [(1, 11), (3, 4), (5, 3), (100, 1)]:
        run("@chain", "--h", "0.01", "--duration", "0.1", "--trajectory", "t.csv", "--every", every)
        lines = [line for line in open("t.csv").read().splitlines() if line and not line.startswith("#")]
        numbers = [line for line in lines if re.match(r"[-0-9.]", line)]
        assert len(numbers) == rows, (every, len(numbers))
        near(float(numbers[-1].split(",")[0]), 0.01 * every * (rows - 1), 1e-12)
    run("@chain", "--h", "0.01", "--duration", "0.1", "--trajectory", "t.motion")
    assert os.path.getsize("t.motion") > 0


@test
def a_full_disk_is_told():
    if not os.path.exists("/dev/full"):
        return
    result = tenon("run", "@chain", "--duration", "0.01", "--quiet", "--report", "/dev/full")
    assert result.code == 1 and result.err.count("\n") == 1 and "/dev/full" in result.err, result.err
    with open("/dev/full", "w") as full:
        done = subprocess.run([TENON, "scene", "chain"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1, done.stderr


@test
def a_closed_pipe_ends_quietly():
    for args in (["scene", "tree:depth=12"], ["accel", "@tree:depth=12"], ["run", "@tree:depth=12", "--duration", "0", "--report", "-"]):
        process = subprocess.Popen([TENON, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(10)
        process.stdout.close()
        error = process.stderr.read()
        assert process.wait(120) == 1 and error == b"", (args, process.returncode, error)


# ---- The page --------------------------------------------------------------------------------------


def page_data(path):
    page = open(path, encoding="utf-8").read()
    assert "@TENON_DATA@" not in page
    # Names of things (as the namespace of SVG) are no addresses that a browser asks.
    assert not re.search(r"<link(?! rel=\"icon\" href=\"data:)|<script[^>]* src=|@import|url\((?!#)(?!data:)", page), "the page needs the network"
    return parse(re.search(r'<script id="tenon-data"[^>]*>(.*?)</script>', page, re.S).group(1))


HEAD = struct.Struct("<4I9d6I")  # docs/protocol.md


def frames_of(data):
    """The frames of a page: dicts with the head, poses, and the words of the active joints."""
    blob, at, frames = base64.b64decode(data["frames"]), 0, []
    while at < len(blob):
        head = HEAD.unpack_from(blob, at)
        magic, size, parts = head[0], head[1], head[2]
        assert magic == 0x31464E54 and size % 8 == 0 and at + size <= len(blob)
        frame = dict(zip(("step", "time", "kinetic", "gravity", "elastic", "joint_error", "velocity_error"), head[4:11]))
        bodies, joints, coordinates = head[13:16]
        offset = at + HEAD.size
        frame["poses"] = struct.unpack_from(f"<{7 * bodies}f", blob, offset)
        offset += 28 * bodies
        for bit, numbers in ((1, joints), (2, 6 * joints), (4, coordinates)):
            offset += 4 * numbers if parts & bit else 0
        if parts & 8:
            words = struct.unpack_from(f"<{(joints + 31) // 32}I", blob, offset)
            frame["active"] = sum(word.bit_count() for word in words)
        frame["active_count"] = head[18]
        frames.append(frame)
        at += size
    return frames


@test
def the_page_holds_the_whole_motion():
    report = run("@chain", "--h", "0.01", "--duration", "0.5", "--html", "p.html")
    data = page_data("p.html")
    frames, mechanism = frames_of(data), data["mechanism"]
    assert data["source"] == "tape" and len(frames) == 51 and "stopped" not in data and "note" not in data
    assert len(mechanism["bodies"]) == 10 and len(mechanism["joints"]) == 10 and mechanism["counts"]["dofs"] == 30
    assert len(frames[-1]["poses"]) == 70
    for value, wanted in zip(frames[-1]["poses"][-7:], report["bodies"][-1]["position"] + report["bodies"][-1]["orientation"]):
        near(value, wanted, 1e-6)
    assert [frame["step"] for frame in frames] == list(range(51))
    near(frames[-1]["time"], 0.5, 1e-12)
    near(sum(frames[-1][key] for key in ("kinetic", "gravity", "elastic")), report["energy"]["final"], 1e-9)
    near(max(frame["joint_error"] for frame in frames), report["joint_error"]["max"], 1e-12)
    near(max(frame["velocity_error"] for frame in frames), report["velocity_error"]["max"], 1e-12)


@test
def a_long_motion_is_thinned_but_ends_where_it_ends():
    report = run("@chain:n=1", "--h", "0.001", "--duration", "4.001", "--html", "p.html")
    data = page_data("p.html")
    frames = frames_of(data)
    assert report["steps"] == 4001 and len(frames) <= 1502 and frames[1]["step"] == 3 and "One step in 3 is shown." in data["note"]
    near(frames[-1]["time"], 4.001, 1e-9)
    near(max(frame["joint_error"] for frame in frames), report["joint_error"]["max"], 1e-12)
    run("@chain:n=1", "--h", "0.01", "--duration", "0.1", "--every", "4", "--html", "p.html")
    near(frames_of(page_data("p.html"))[1]["time"], 0.04, 1e-12)


@test
def the_adaptive_method_tells_what_it_simulated():
    args = ("--h", "0.002", "--duration", "0.2")
    few = run("@spring_pendulum:n=20", *args, "--set", "adaptive.active=5", "--html", "p.html")
    told, frames = few["adaptive"], frames_of(page_data("p.html"))
    assert few["method"] == "adaptive" and few["steps"] == 100
    assert told["active"]["max"] <= 5 and 0 < told["active"]["mean"] <= told["active"]["max"], told
    assert told["choices"] == 5 and told["visits"]["max"] >= told["visits"]["mean"] > 0, told  # every 20 steps
    assert told["left_out"] >= 0 and told["kinetic_loss"] >= 0, told
    counts = [frame["active"] for frame in frames[1:]]
    assert len(counts) == 100 and counts == [frame["active_count"] for frame in frames[1:]]
    assert max(counts) == told["active"]["max"] and counts[-1] == told["active"]["final"], (counts, told)
    near(sum(counts) / 100, told["active"]["mean"], 1e-9)
    result = tenon("run", "@spring_pendulum:n=20", *args, "--set", "adaptive.active=5")
    assert re.search(r"^active +\S+ of 20 joints, \S+ nodes visited a step, 5 choices", result.out, re.M), result.out
    full = run("@spring_pendulum:n=20", *args, "--set", "adaptive.active=0", "--html", "p.html")
    assert full["adaptive"]["active"]["final"] == 20 and full["adaptive"]["kinetic_loss"] == 0
    assert frames_of(page_data("p.html"))[-1]["active"] == 20
    other = run("@chain:n=3", "--duration", "0.01", "--html", "p.html")
    assert "adaptive" not in other and "active" not in frames_of(page_data("p.html"))[-1]


@test
def the_page_is_safe_with_any_name():
    run("-", "--duration", "0", "--html", "p.html", stdin=scene([body(name="</script><b>")]))
    assert page_data("p.html")["mechanism"]["bodies"][0]["name"] == "</script><b>"


# ---- When it cannot go on --------------------------------------------------------------------------


@test
def a_failed_simulation_keeps_what_was_before():
    result = tenon("run", "-", "--report", "f.json", "--html", "f.html", "--trajectory", "f.csv", stdin=QUARREL)
    assert result.code == 1 and result.err.count("\n") == 1 and "step 1" in result.err, result.err
    report = parse(open("f.json").read())
    check_keys(report, KEYS)
    error = report["error"]
    assert error["step"] == 1 and error["time"] == 0 and error["joint"] in ("slow", "fast") and error["why"]
    assert report["steps"] == 0 and report["bodies"][0]["position"] == [1, 0, 0]
    assert page_data("f.html")["stopped"]["text"] == error["why"]
    assert os.path.getsize("f.csv") > 0


@test
def an_interrupt_keeps_what_was_before():
    process = subprocess.Popen([TENON, "run", "@chain", "--duration", "1e6", "--report", "i.json", "--trajectory", "i.csv",
                                "--every", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: os.path.exists("i.csv") and os.path.getsize("i.csv") > 1 << 16)  # some steps have been taken
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 1 and error.count(b"\n") == 1 and b"interrupted" in error, error
    report = parse(open("i.json").read())
    assert 0 < report["steps"] < 1e9 and report["error"]["why"] == "interrupted" and report["error"]["joint"] is None
    assert report["error"]["step"] == report["steps"] + 1


# ---- accel, check, scene, bench --------------------------------------------------------------------


@test
def accel_is_exact():
    result = tenon("accel", "-", stdin=PENDULUM)
    assert result.code == 0 and result.err == ""
    answer = result.json()
    assert set(answer) == {"bodies", "joints", "contacts"} and answer["contacts"] == []
    b, j = answer["bodies"][0], answer["joints"][0]
    assert set(b) == {"name", "acceleration", "angular_acceleration"}
    assert set(j) == {"name", "force", "torque", "multipliers"} and len(j["multipliers"]) == 5
    near(b["acceleration"][2], -9.81 / 1.1, 1e-12)
    near(b["angular_acceleration"][1], 9.81 / 1.1, 1e-12)
    near(j["force"][2], 9.81 * 0.1 / 1.1, 1e-12)
    result = tenon("accel", "-", "--report", "a.json", stdin=PENDULUM)
    assert (result.code, result.out) == (0, "") and parse(open("a.json").read()) == answer


@test
def accel_tells_why_it_cannot():
    result = tenon("accel", "-", stdin=HURRY)
    assert result.code == 1 and result.err.count("\n") == 1
    answer = result.json()
    assert answer["bodies"] == [] and answer["error"]["joint"] in ("slow", "fast") and answer["error"]["why"]


@test
def check_tells_mobility_and_redundancy():
    result = tenon("check", "@chain")
    assert result.code == 0 and "Mobility 30" in result.out and "Redundant" not in result.out, result.out
    twice = scene([body(position=[1, 0, 0])], [HINGE, {**HINGE, "name": "again"}])
    result = tenon("check", "-", stdin=twice)
    assert result.code == 0 and "Mobility 1" in result.out and result.out.count("Redundant:") == 1, result.out
    assert "'again': all its rows" in result.out or "'pin': all its rows" in result.out, result.out
    result = tenon("check", "@fourbar")
    assert "Redundant: joint 'D': y of anchor, first tilt of axis, second tilt of axis." in result.out, result.out
    answer = tenon("check", "-", "--report", "-", stdin=twice).json()
    assert answer["mobility"] == 1 and answer["counts"]["redundant"] == 5 == len(answer["redundant_rows"])
    assert answer["assembled"] is True and answer["contradictory"] is False
    assert all(row["joint"] in ("pin", "again") and row["text"] for row in answer["redundant_rows"])


@test
def check_stays_short():
    result = tenon("check", "@strandbeest")
    assert result.code == 0 and result.out.count("\n") < 20 and "84 more rows of 28 more joints" in result.out, result.out


@test
def check_tells_driven_from_locked():
    driven = {**HINGE, "type": "motor", "of": "hinge", "velocity": 2}
    result = tenon("check", "-", stdin=scene([body(position=[1, 0, 0])], [driven]))
    assert result.code == 0 and "Mobility 0" in result.out and "prescribed" in result.out, result.out
    assert "Nothing can move" not in result.out and "do not fit joint 'pin': off by 2" in result.out, result.out
    result = tenon("check", "-", stdin=scene([body(position=[1, 0, 0])], [{**HINGE, "type": "weld"}]))
    assert result.code == 0 and "Nothing can move" in result.out and "prescribed" not in result.out, result.out


@test
def a_forgotten_at_sign_is_noticed():
    refused("run", "fourbar", says="did you mean the built-in scene '@fourbar'?")
    refused("check", "chain:n=3", says="'@chain:n=3'")
    refused("run", "four", says="No such file")


@test
def check_fails_what_cannot_be():
    apart = {"name": "pin", "type": "ball", "bodies": ["ground", "link"], "frames": [{"position": [0, 0, 0]}, {"position": [0.5, 0, 0]}]}
    result = tenon("check", "-", stdin=scene([body()], [apart]))
    assert result.code == 0 and "'pin' is off by 0.5" in result.out and "assembling" in result.out, result.out
    result = tenon("check", "-", "--report", "-", stdin=QUARREL)
    assert result.code == 1 and result.json()["contradictory"] is True


@test
def check_remarks_on_masses_and_parts():
    bodies = [body(name="light", mass=1e-3), body(name="heavy", mass=1e3, position=[3, 0, 0])]
    result = tenon("check", "-", stdin=scene(bodies))
    assert result.code == 0 and "'light'" in result.out and "'heavy'" in result.out and "parts" in result.out, result.out


@test
def every_listed_scene_is_written_and_read_back():
    names = re.findall(r"^(\w+)", tenon("scene", "--list").out, re.M)
    assert "chain" in names and "fourbar" in names and len(names) >= 10
    for name in names:
        text = tenon("scene", name).out
        assert parse(text)["tenon_scene"] == 1
        if name != "crowd":
            assert tenon("run", "-", "--duration", "0", "--quiet", stdin=text).code == 0, name
    assert tenon("scene", "@chain:n=2").out == tenon("scene", "chain:n=2").out


# ---- Contacts, limits, auxiliary joints ------------------------------------------------------------

BALL = {"type": "sphere", "radius": 0.1, "density": 1000, "restitution": 0.5}
LIMIT = {"lower": -1, "upper": 0, "hard": True}


def box_at(z, friction=0.5):
    """A cube of 8 kg over a floor; at rest it stands on four corners."""
    shape = {"type": "box", "half_size": [0.1, 0.1, 0.1], "density": 1000, "friction": friction}
    return scene([{"name": "box", "position": [0, 0, z], "shapes": [shape]}],
                 contact={"ground": {"friction": friction}})


def limited(**limit):
    return scene([body(position=[1, 0, 0])], [{**HINGE, "limit": {**LIMIT, **limit}}])


def roped(z, length):
    """A bob under the origin; the rope's length as it is, or given."""
    rope = {"name": "tether", "type": "rope", "bodies": ["ground", "bob"], "anchors": [[0, 0, 0], [0, 0, 0]], "length": length}
    return scene([{"name": "bob", "kind": "particle", "mass": 2, "position": [0, 0, z]}], [rope])


@test
def the_report_counts_contacts_and_impacts():
    ball = scene([{"name": "ball", "position": [0, 0, 1.1], "shapes": [BALL]}], contact={"ground": {"restitution": 0.5}})
    report = run("-", "--method", "multiplier", "--duration", "1", stdin=ball)  # falls 1 m: impacts at 0.4515 s, 0.9030 s, 1.1288 s
    assert report["impacts"] == 2 and report["events"] >= 2 and report["jams"] == 0, report["impacts"]
    assert report["contacts"]["max"] <= 1 and 0 <= report["contacts"]["deepest"] < 1e-8, report["contacts"]
    report = run("-", "--method", "multiplier", "--duration", "0.05", stdin=box_at(0.1))
    assert report["contacts"]["max"] == 4 and report["impacts"] == 0, report
    assert report["auxiliary"]["rows"] == 12 and report["auxiliary"]["dependent"] == 0  # three a corner; no equalities
    assert 0 <= report["auxiliary"]["complementarity"] < 1e-6
    assert report["wall"]["phases"]["columns"] > 0 and report["wall"]["phases"]["contact"] > 0
    near(report["bodies"][0]["position"][2], 0.1, 1e-8)
    report = run("@chain", "--duration", "0.01")
    assert [report[k] for k in ("impacts", "events", "coarse", "jams")] == [0] * 4 and report["auxiliary"]["rows"] == 0


@test
def the_report_counts_auxiliary_rows():
    core = run("@fourbar", "--method", "multiplier", "--duration", "0.01")
    beside = run("@fourbar", "--method", "multiplier", "--duration", "0.01", "--set", "multiplier.loops=auxiliary")
    assert core["auxiliary"] == {"rows": 0, "dependent": 0, "complementarity": 0}
    assert beside["auxiliary"]["rows"] == 5 and beside["auxiliary"]["dependent"] == 3, beside["auxiliary"]
    for one, two in zip(core["bodies"], beside["bodies"]):
        for a, b in zip(one["position"], two["position"]):
            near(a, b, 1e-9)


@test
def the_summary_tells_contacts_and_jams():
    result = tenon("run", "-", "--duration", "0.01", stdin=box_at(0.1))
    assert result.code == 0 and "\ncontacts      4 points at most, 0 impacts" in result.out, result.out
    assert "suspect" not in result.out
    jamming = ("@painleve", "--method", "multiplier", "--h", "0.001", "--duration", "0.1")
    result = tenon("run", *jamming)
    line = [line for line in result.out.splitlines() if line.startswith("suspect")]
    assert result.code == 0 and len(line) == 1 and ", first at t = 0.001 s (" in line[0], result.out
    assert line[0].startswith("suspect       jam, off by ") and "friction" in line[0], line
    report = run(*jamming)
    assert report["coarse"] >= report["jams"] > 0, report["coarse"]
    jam, = report["suspect"]
    assert (jam["what"], jam["element"], jam["time"]) == ("jam", "mechanism", 0.001) and jam["count"] > 0, jam
    result = tenon("run", "-", "--duration", "0.01", "--method", "multiplier", "--set", "multiplier.integrator=euler", stdin=box_at(0.1))
    assert result.code == 0 and "suspect" not in result.out and "coarse" not in result.out, result.out  # all steps are
    assert "\ncontacts" not in tenon("run", "@chain", "--duration", "0.01").out
    result = tenon("run", "-", "--duration", "1", "--method", "multiplier", stdin=roped(-0.5, 1))  # falls 0.5 m and stays
    assert "\nlimits        1 impact, none exceeded\n" in result.out or "\nlimits        1 impact, exceeded by" in result.out, result.out


# ---- What auto found, and what is worth a look -----------------------------------------------------

AUTO = ("--method", "auto", "--h", "0.0166666666666666667")


def line_of(result, word):
    lines = [line for line in result.out.splitlines() if line.split()[:1] == [word]]
    assert result.code == 0 and len(lines) == 1, (word, result.out, result.err)
    return lines[0]


@test
def a_run_by_auto_says_what_it_found():
    result = tenon("run", "@gripper", *AUTO, "--duration", "0.1")
    assert line_of(result, "method") == "method        auto, h = 0.0166667 s"
    assert line_of(result, "auto") == "auto          2 loops, 0 stiff rows, 12 contacts, h = 16.7 ms"
    report = run("@gripper", *AUTO, "--duration", "0.1")
    assert report["method"] == "auto" and report["auto"] == {"loops": 2, "stiff_rows": 0, "contacts": 12}, report["auto"]
    sprung = scene([body(position=[1, 0, 0], inertia=[0.1, 0.1, 0.1])], [{**HINGE, "stiffness": 1e6}])
    assert line_of(tenon("run", "-", *AUTO, "--duration", "0.1", stdin=sprung), "auto").startswith("auto          0 loops, 1 stiff row, 0 contacts,")


@test
def auto_is_told_of_nothing_else():
    for method in ("impulse", "multiplier", "implicit", "adaptive"):
        result = tenon("run", "@chain", "--method", method, "--h", "0.001", "--duration", "0.01")
        assert line_of(result, "method").startswith("method        " + method) and "\nauto " not in result.out
        report = run("@chain", "--method", method, "--h", "0.001", "--duration", "0.01")
        assert report["method"] == method and "auto" not in report and report["suspect"] == []


@test
def accuracy_is_asked_for_by_a_flag():
    plain, fine = run("@fourbar", "--duration", 1), run("@fourbar", "--duration", 1, "--accuracy", "1e-5")
    same = run("@fourbar", "--duration", 1, "--set", "accuracy=1e-5")
    assert fine["pieces"] > 4 * plain["pieces"] and fine["steps"] == plain["steps"], (fine["pieces"], plain["pieces"])
    assert fine["hash"] == same["hash"] != plain["hash"]
    assert run("@fourbar", "--duration", 1, "--accuracy", 0)["hash"] == plain["hash"]
    refused("run", "@fourbar", "--method", "multiplier", "--accuracy", "1e-5", says=("accuracy", "multiplier"))
    refused("run", "@fourbar", "--accuracy", "-1", says="accuracy")
    assert "--accuracy A" in tenon("run", "--help").out


@test
def an_overlap_is_suspect_until_it_is_gone():
    result = tenon("run", "-", *AUTO, "--set", "multiplier.project=false", "--duration", "0.5", "--report", "r.json", stdin=box_at(0.05))
    line = line_of(result, "suspect")
    assert re.match(r"suspect       penetration of 10 mm at body 'box', first at t = 0.01667 s \(2 steps\): bodies overlap", line), line
    report = parse(open("r.json").read())
    deep, = report["suspect"]
    assert set(deep) == {"what", "element", "amount", "count", "time", "why"}
    assert (deep["what"], deep["element"], deep["count"]) == ("penetration", "box", 2), deep
    assert deep["amount"] == report["contacts"]["deepest"] and abs(deep["time"] - 1 / 60) < 1e-12 and "overlap" in deep["why"]
    assert 0 <= report["contacts"]["residual"] < 1e-6, report["contacts"]


@test
def a_damper_that_is_cut_is_suspect():
    damped = scene([body(inertia=[0.001, 0.001, 0.001])], [{**HINGE, "name": "pin", "damping": 10}])
    result = tenon("run", "-", "--method", "impulse", "--h", "0.01", "--duration", "0.1", stdin=damped)
    line = line_of(result, "suspect")
    assert re.match(r"suspect       damping clamped by \d+(\.\d+)? % at joint 'pin', first at t = 0.01 s \(10 steps\): .*auto", line), line
    assert "suspect" not in tenon("run", "-", *AUTO, "--duration", "0.1", stdin=damped).out


@test
def the_scene_keeps_its_method():
    for name in ("auto", "impulse"):
        text = json.dumps({"tenon_scene": 1, "method": {"name": name, "h": 0.01, "duration": 0.02}, "bodies": []})
        assert run("-", stdin=text)["method"] == name


@test
def what_is_driven_into_a_limit_is_told_so():
    # A crank turns a rod down until its tip stands on the floor and its knee is at the end of its limit.
    rod = {"name": "rod", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [1.5, 0, 1],
           "shapes": [{"type": "sphere", "radius": 0.02, "position": [0.4, 0, 0]}]}
    drive = {"type": "motor", "of": "hinge", "bodies": ["ground", "link"], "anchor": [0, 0, 1], "axis": [0, 1, 0], "velocity": 1}
    knee = {**HINGE, "bodies": ["link", "rod"], "anchor": [1, 0, 1], "limit": {"lower": -0.5, "upper": 0.5, "hard": True}}
    driven = scene([body(position=[0.5, 0, 1]), rod], [drive, knee], contact={"ground": {}})
    result = tenon("run", "-", "--quiet", "--method", "multiplier", "--duration", "2", stdin=driven)
    assert result.code == 1 and "through a limit or a contact" in result.err and result.err.count("\n") == 1, result.err


@test
def the_page_has_the_floor_and_the_lengths_of_ropes():
    run("-", "--duration", "0.01", "--html", "floor.html", stdin=box_at(0.1))
    assert page_data("floor.html")["mechanism"]["ground"] is True
    run("@chain:n=1", "--duration", "0.01", "--html", "floor.html")
    assert page_data("floor.html")["mechanism"]["ground"] is False
    run("-", "--duration", "0.01", "--html", "rope.html", stdin=roped(-0.5, 1))
    assert page_data("rope.html")["mechanism"]["joints"][0]["length"] == 1
    bare = json.loads(roped(-0.5, 1))
    del bare["joints"][0]["length"]
    run("-", "--duration", "0.01", "--html", "rope.html", stdin=json.dumps(bare))
    assert page_data("rope.html")["mechanism"]["joints"][0]["length"] == 0.5
    wall = {"name": "wall", "kind": "static", "shapes": [{"type": "plane"}]}
    run("-", "--duration", "0.01", "--html", "wall.html", stdin=scene([wall, body(position=[0, 0, 1])]))
    assert page_data("wall.html")["mechanism"]["bodies"][0]["shapes"][0]["type"] == "plane"


@test
def accel_tells_contacts():
    answer = tenon("accel", "-", stdin=box_at(0.1)).json()
    assert len(answer["contacts"]) == 4
    for contact in answer["contacts"]:
        assert set(contact) == {"bodies", "position", "normal", "gap", "force", "slip"}
        assert contact["bodies"] == ["ground", "box"] and contact["normal"] == [0, 0, 1] and contact["slip"] == 0
        near(abs(contact["position"][0]), 0.1, 1e-12)
        near(contact["gap"], 0, 1e-12)
        assert contact["force"][2] > 0
    near(sum(c["force"][2] for c in answer["contacts"]), 8 * 9.81, 1e-7)
    near(answer["bodies"][0]["acceleration"][2], 0, 1e-9)


@test
def accel_tells_forces_of_limits_and_ropes():
    joint = tenon("accel", "-", stdin=limited()).json()["joints"][0]
    near(joint["limit_force"], -9.81, 1e-10)  # the weight at 1 m, turned back
    joint = tenon("accel", "-", stdin=limited(upper=1)).json()["joints"][0]
    assert joint["limit_force"] == 0
    joint = tenon("accel", "-", stdin=roped(-1, 1)).json()["joints"][0]
    near(joint["limit_force"], 2 * 9.81, 1e-10)
    assert "limit_force" not in tenon("accel", "-", stdin=PENDULUM).json()["joints"][0]


@test
def accel_tells_when_friction_leaves_no_force():
    result = tenon("accel", "@painleve")
    assert result.code == 1 and result.err.count("\n") == 1 and "'rod'" in result.err and "friction" in result.err
    answer = result.json()
    assert answer["bodies"] == [] and answer["contacts"] == [] and "friction" in answer["error"]["why"]


@test
def check_tells_which_joints_are_auxiliary():
    assert "Auxiliary" not in tenon("check", "@fourbar").out
    result = tenon("check", "@fourbar", "--set", "multiplier.loops=auxiliary")
    assert result.code == 0 and "Auxiliary, solved outside the factored tree: 'D' (5 rows)." in result.out, result.out
    answer = tenon("check", "@fourbar", "--set", "multiplier.loops=auxiliary", "--report", "-").json()
    assert answer["auxiliary"]["joints"] == ["D"]
    asked = scene([body(position=[1, 0, 0])], [{**HINGE, "role": "auxiliary"}])
    assert "'pin' (5 rows)" in tenon("check", "-", stdin=asked).out
    assert "Auxiliary" not in tenon("check", "-", stdin=roped(-1, 1)).out  # a rope has no row
    result = tenon("check", "@strandbeest", "--set", "multiplier.loops=auxiliary")
    assert "and 28 more (180 rows)" in result.out and result.out.count("\n") < 20, result.out


@test
def check_tells_what_is_inside_what():
    result = tenon("check", "-", stdin=box_at(0.1))
    assert result.code == 0 and "4 points are in contact at the start." in result.out, result.out
    result = tenon("check", "-", stdin=box_at(0.09))
    assert result.code == 1 and "'box' 0.01 m inside 'ground'" in result.out, result.out
    answer = tenon("check", "-", "--report", "-", stdin=box_at(0.09)).json()
    near(answer["contacts"]["deepest"], 0.01, 1e-12)
    assert answer["contacts"]["count"] == 4 and answer["contacts"]["bodies"] == ["ground", "box"]
    result = tenon("check", "-", stdin=box_at(0.2))
    assert result.code == 0 and "contact" not in result.out, result.out
    result = tenon("check", "@painleve")
    assert result.code == 0 and "No acceleration exists at the start" in result.out and "'rod'" in result.out, result.out


@test
def check_tells_what_passes_through_everything():
    box = {"type": "box", "half_size": [0.1, 0.1, 0.1], "density": 1000}
    def one(kind, shape):
        return tenon("check", "-", stdin=scene([{"name": "a", "kind": kind, "position": [0, 0, 1], "shapes": [shape]}]))
    result = one("affine", box)
    assert result.code == 0 and "'a' passes through everything" in result.out, result.out
    for result in (one("rigid", box), one("affine", {**box, "collide": False})):
        assert result.code == 0 and "passes through" not in result.out, result.out


@test
def check_tells_limits_that_do_nothing():
    says = "The limit of joint 'pin' does nothing"
    idle = tenon("check", "-", stdin=limited(hard=False, upper=-0.25))
    assert idle.code == 0 and says in idle.out and "beyond" not in idle.out, idle.out
    for result in (tenon("check", "-", stdin=limited()), tenon("check", "-", stdin=limited(hard=False, stiffness=10))):
        assert result.code == 0 and says not in result.out, result.out


@test
def check_tells_limits_that_are_passed():
    result = tenon("check", "-", stdin=limited())
    assert result.code == 0 and "beyond" not in result.out, result.out
    result = tenon("check", "-", stdin=limited(upper=-0.25))
    assert result.code == 1 and "Joint 'pin' is 0.25 beyond its hard limit." in result.out, result.out
    answer = tenon("check", "-", "--report", "-", stdin=limited(upper=-0.25)).json()
    assert answer["limits"] == {"beyond": 0.25, "joint": "pin"}
    result = tenon("check", "-", stdin=limited(upper=-0.25, hard=False, stiffness=10))
    assert result.code == 0 and "'pin' is 0.25 beyond its limit: it is pushed back" in result.out, result.out
    result = tenon("check", "-", stdin=roped(-1.5, 1))
    assert result.code == 1 and "Rope 'tether' is 0.5 beyond its length." in result.out, result.out
    # A ball turned by 0.5 rad about x, a swing, and about z, a twist.
    turned = [{"orientation": [1, 0, 0, 0]}, {"orientation": [0.9689124217106447, 0.24740395925452294, 0, 0]}]
    ball = {"name": "pin", "type": "ball", "bodies": ["ground", "link"], "frames": turned, "limit": {"cone": 0.3, "hard": True}}
    result = tenon("check", "-", stdin=scene([body()], [ball]))
    assert result.code == 1 and "Joint 'pin' is 0.2 beyond its hard limit." in result.out, result.out
    turned[1]["orientation"] = [0.9689124217106447, 0, 0, 0.24740395925452294]
    ball["limit"] = {"twist": [-0.1, 0.4], "hard": True}
    result = tenon("check", "-", stdin=scene([body()], [ball]))
    assert result.code == 1 and "Joint 'pin' is 0.1 beyond its hard limit." in result.out, result.out


@test
def a_run_mends_what_check_complains_of():
    for text in (box_at(0.09), limited(upper=-0.25), roped(-1.5, 1)):
        report = run("-", "--duration", "0.01", stdin=text)
        assert report["contacts"]["deepest"] < 1e-6, report["contacts"]


# ---- The terminal ----------------------------------------------------------------------------------


@test
def a_terminal_shows_progress_within_its_width():
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    begun = time.monotonic()
    process = subprocess.Popen([TENON, "run", "@chain", "--duration", "1e6"], stdout=subprocess.PIPE, stderr=slave)
    text = b""
    while text.count(b"\r[") < 4:
        assert select.select([master], [], [], 120)[0], "no progress is shown"
        text += os.read(master, 1 << 16)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    spent = time.monotonic() - begun
    os.close(slave)
    lines = re.findall(r"\r(\[.*?)\x1b\[K", text.decode())
    assert len(lines) <= 10 * spent + 1, (len(lines), spent)
    assert all(len(line) < 72 for line in lines) and "x real time" in lines[0] and "joint error" in lines[0], lines[0]
    result = tenon("run", "@chain", "--duration", "0.01")
    assert "\r" not in result.err + result.out


if __name__ == "__main__":
    sys.exit(main())
