"""Recorded motions through the program: who follows what is printed and reported, the duration is that of
the motion, and what is wrong is refused with one line that names file, line and column.

TENON in the environment names the program; an argument filters the tests by name.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

from tests import main, test

TENON = os.environ["TENON"]
WALK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenes", "walk.bvh")
ARM = "HIERARCHY\nROOT arm\n{\nOFFSET 0 0 0\nCHANNELS 1 Zrotation\nJOINT tip\n{\nOFFSET 100 0 0\n}\n}\n"
MOVE = ARM + "MOTION\nFrames: 3\nFrame Time: 0.25\n0\n45\n90\n"


def tenon(*args, motion=None, scene=None):
    """The program with args; 'MOTION' and 'OUT' stand for files in a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {"MOTION": os.path.join(folder, "motion.bvh"), "OUT": os.path.join(folder, "out")}
        if motion is not None:
            with open(paths["MOTION"], "w", encoding="utf-8") as file:
                file.write(motion)
        done = subprocess.run([TENON] + [paths.get(a, a) for a in args], capture_output=True, timeout=300,
                              input=scene.encode() if scene else b"")
        return done.returncode, done.stdout.decode(), done.stderr.decode().replace(folder + os.sep, "")


def arm_scene():
    return json.dumps({"tenon_scene": 1, "gravity": [0, 0, 0], "method": {"h": 0.001, "duration": 7},
                       "bodies": [{"name": "arm", "mass": 1, "inertia": [0.1, 0.1, 0.1]},
                                  {"name": "other", "mass": 1, "inertia": [1, 1, 1], "position": [5, 0, 0]}],
                       "joints": [{"name": "pin", "type": "hinge", "bodies": ["ground", "arm"], "anchor": [0, 0, 0],
                                   "axis": [0, 0, 1]}]})


@test
def an_arm_follows_and_the_motion_gives_the_duration():
    code, out, err = tenon("run", "-", "--mocap", "MOTION", "--mocap-up", "z", "--report", "-", motion=MOVE,
                           scene=arm_scene())
    assert code == 0 and err == "", (code, err)
    report = json.loads(out)
    mocap = report["mocap"]
    assert report["time"] == 0.5 and report["steps"] == 500, report["time"]
    assert mocap["mapped"] == [{"joint": "arm", "body": "arm"}] and mocap["unmapped"] == ["tip"], mocap
    assert mocap["still"] == ["other"] and mocap["frames"] == 3 and mocap["duration"] == 0.5 and mocap["frame_time"] == 0.25
    w, _, _, z = report["bodies"][0]["orientation"]
    assert 1 < 2 * math.atan2(z, w) < 1.6, (w, z)  # it is blended in over its whole length
    code, out, err = tenon("run", "-", "--mocap", "MOTION", "--mocap-up=z", "--duration", "2", "--report", "-",
                           motion=MOVE, scene=arm_scene())
    w, _, _, z = json.loads(out)["bodies"][0]["orientation"]
    assert json.loads(out)["time"] == 2 and abs(2 * math.atan2(z, w) - math.pi / 2) < 1e-6, (w, z)


@test
def a_still_picture_leaves_the_duration_alone():
    code, out, err = tenon("run", "-", "--mocap", "MOTION", "--report", "-", "--h", "0.01", "--set", "duration=0.5",
                           motion=ARM + "MOTION Frames: 1 Frame Time: 1\n0", scene=arm_scene())
    assert code == 0 and json.loads(out)["time"] == 0.5, (code, err)
    code, out, err = tenon("run", "-", "--mocap", "MOTION", "--report", "-", "--h", "0.01",
                           motion=ARM + "MOTION Frames: 1 Frame Time: 1\n0", scene=arm_scene())
    assert code == 0 and json.loads(out)["time"] == 7, (code, err)


@test
def what_follows_what_is_printed_unless_quiet():
    args = ("run", "-", "--mocap", "MOTION", "--mocap-scale", "0.5")
    code, out, err = tenon(*args, motion=MOVE, scene=arm_scene())
    lines = out.splitlines()
    assert code == 0 and err == "", (code, err)
    assert lines[0].startswith("mocap         ") and "1 of 2 joints drive a body; 3 frames, 0.5 s, 0.5 m a unit" in lines[0]
    assert "no body for   tip" in lines and "no motion for other" in lines, out
    code, out, err = tenon(*args, "--quiet", motion=MOVE, scene=arm_scene())
    assert (code, out, err) == (0, "", ""), (code, out, err)
    code, out, err = tenon("run", "-", "--report", "-", scene=arm_scene())
    assert "mocap" not in json.loads(out)


@test
def a_person_walks():
    code, out, err = tenon("run", "@humanoid", "--mocap", WALK, "--report", "-", "--duration", "1.5")
    assert code == 0 and err == "", (code, err)
    report = json.loads(out)
    mocap = report["mocap"]
    assert len(mocap["mapped"]) == 17 and not mocap["unmapped"] and not mocap["still"] and abs(mocap["scale"] - 0.01) < 1e-4
    assert {"joint": "LeftUpLeg", "body": "left_thigh"} in mocap["mapped"]
    place = {b["name"]: b["position"] for b in report["bodies"]}["pelvis"]
    assert 1.3 < place[0] < 2 and abs(place[1]) < 0.05 and 0.8 < place[2] < 1.1, place
    assert report["joint_error"]["max"] < 1e-9


def refused(place, text, *args, motion=None, scene=None):
    code, out, err = tenon(*args, motion=motion, scene=scene)
    assert code == 2 and out == "", (code, out)
    assert err.startswith("tenon: " + place) and text in err and err.count("\n") == 1, err


@test
def wrong_files_and_options_are_refused_in_one_line():
    good = ("run", "@humanoid", "--mocap", "MOTION")
    refused("motion.bvh:1:1: ", "expected 'HIERARCHY'", *good, motion="{}")
    refused("motion.bvh:14:1: ", "frame 1: 'x' is not a number", *good, motion=ARM + "MOTION\nFrames: 1\nFrame Time: 1\nx")
    refused("motion.bvh:15:1: ", "the text ends in frame 2 of 2", *good,
            motion=ARM + "MOTION\nFrames: 2\nFrame Time: 1\n1\n")
    refused("motion.bvh: ", "no joint of the motion ('arm' and 1 more) drives a body", "run", "@fourbar", "--mocap", "MOTION",
            motion=MOVE.replace("ROOT arm", "ROOT arm"))
    refused("cannot read '", "no.bvh", "run", "@humanoid", "--mocap", "no.bvh")
    refused("option '--mocap-scale' takes", "'-1'", *good, "--mocap-scale=-1", motion=MOVE)
    refused("option '--mocap-scale' takes", "'1cm'", *good, "--mocap-scale", "1cm", motion=MOVE)
    refused("option '--mocap-up' takes y or z", "'x'", *good, "--mocap-up", "x", motion=MOVE)
    refused("option '--mocap-up' needs --mocap FILE", "", "run", "@humanoid", "--mocap-up", "z")
    refused("option '--mocap' does not belong to 'tenon check'", "", "check", "@humanoid", "--mocap", "MOTION")
    refused("motion.bvh: would be overwritten", "", *good, "--report", "MOTION", motion=MOVE)


if __name__ == "__main__":
    sys.exit(main())
