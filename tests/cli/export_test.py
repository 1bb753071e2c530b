"""tenon export: every format is read back here, by readers of its own, and compared with the CSV trajectory.

TENON in the environment names the program; an argument filters the tests by name.
"""
import array
import ast
import base64
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import zipfile

from tests import main, test

TENON = os.environ["TENON"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORNER = os.path.join(ROOT, "tests", "support", "corner.json")



def tenon(*args):
    return subprocess.run([TENON, *map(str, args)], capture_output=True, text=True, timeout=300)


def export(scene, path, *args):
    """An export that must go well; what it prints."""
    done = tenon("export", scene, "--out", path, *args)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def refused(*args, says):
    done = tenon(*args)
    assert done.returncode == 2 and done.stdout == "", (done.returncode, done.stdout)
    assert done.stderr.startswith("tenon: ") and done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr, done.stderr


def trajectory(scene, *args):
    """Names, times, and poses[frame][body] = 7 numbers, of tenon run --trajectory."""
    done = tenon("run", scene, "--trajectory", "t.csv", "--quiet", *args)
    assert done.returncode == 0, done.stderr
    lines = [line.split(",") for line in open("t.csv").read().splitlines()]
    names = [word[:-2] for word in lines[0][1::7]]
    rows = [[float(x) for x in line] for line in lines[1:]]
    poses = [[row[1 + 7 * i:8 + 7 * i] for i in range(len(names))] for row in rows]
    return names, [row[0] for row in rows], poses


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file)
    return path


# ---- Vectors and quaternions (w x y z)

def turn(q, v):
    w, x, y, z = q
    t = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])]
    return [v[0] + w * t[0] + y * t[2] - z * t[1], v[1] + w * t[1] + z * t[0] - x * t[2], v[2] + w * t[2] + x * t[1] - y * t[0]]


def product(a, b):
    return [a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]]


def back(q):
    return [q[0], -q[1], -q[2], -q[3]]


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def sub(a, b):
    return [x - y for x, y in zip(a, b)]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def near(a, b, tolerance):
    assert len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b)), (a, b, tolerance)


def same_turn(p, q, tolerance):
    near(p, q if dot(p, q) > 0 else [-x for x in q], tolerance)


# ---- glTF

class Gltf:
    def __init__(self, path):
        data = open(path, "rb").read()
        if path.endswith(".glb"):
            magic, version, length, json_length, json_type = struct.unpack_from("<4sII I4s", data)
            assert (magic, version, length, json_type) == (b"glTF", 2, len(data), b"JSON")
            self.json = json.loads(data[20:20 + json_length])
            self.buffer = data[20 + json_length + 8:]
        else:
            self.json = json.loads(data)
            self.buffer = base64.b64decode(self.json["buffers"][0].pop("uri").split(",")[1], validate=True)

    def numbers(self, index):
        accessor = self.json["accessors"][index]
        view = self.json["bufferViews"][accessor["bufferView"]]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        values = array.array({5126: "f", 5125: "I"}[accessor["componentType"]])
        values.frombytes(self.buffer[view["byteOffset"]:view["byteOffset"] + view["byteLength"]])
        assert len(values) == width * accessor["count"]
        return list(values) if width == 1 else [list(values[i:i + width]) for i in range(0, len(values), width)]

    def poses(self, name):
        """Times, and the pose of a node at each, as the trajectory has it; the third: which channels there are."""
        index = next(i for i, node in enumerate(self.json["nodes"]) if node["name"] == name)
        node, animation, times, moves, paths = self.json["nodes"][index], self.json["animations"][0], None, {}, set()
        for channel in animation["channels"]:
            sampler = animation["samplers"][channel["sampler"]]
            times = self.numbers(sampler["input"])
            assert sampler.get("interpolation", "LINEAR") == "LINEAR"
            if channel["target"]["node"] == index:
                paths.add(channel["target"]["path"])
                moves[channel["target"]["path"]] = self.numbers(sampler["output"])
        place = moves.get("translation", [node["translation"]] * len(times))
        turns = moves.get("rotation", [node["rotation"]] * len(times))
        near(place[0] + turns[0], node["translation"] + node["rotation"], 0)
        for p, q in zip(turns, turns[1:]):
            assert dot(p, q) > 0, "a quaternion jumps"
        return times, [p + [q[3]] + q[:3] for p, q in zip(place, turns)], paths

    def volume(self, primitive):
        points, corners = self.numbers(primitive["attributes"]["POSITION"]), self.numbers(primitive["indices"])
        triangles = [[points[i] for i in corners[k:k + 3]] for k in range(0, len(corners), 3)]
        return sum(dot(a, cross(b, c)) for a, b, c in triangles) / 6


def check_gltf(scene, path, *args):
    export(scene, path, "--every", 3, *args)
    names, times, poses = trajectory(scene, "--every", 3, *args)
    gltf = Gltf(path)
    assert [node["name"] for node in gltf.json["nodes"]][1:1 + len(names)] == names
    for i, name in enumerate(names):
        got_times, got, _ = gltf.poses(name)
        for k, t in enumerate(times):
            assert got_times[k] == struct.unpack("f", struct.pack("f", t))[0]
            near(got[k][:3], poses[k][i][:3], 1e-6 * (1 + max(map(abs, poses[k][i][:3]))))
            same_turn(got[k][3:], poses[k][i][3:], 1e-6)
    return gltf


@test
def gltf_moves_as_the_trajectory():
    for scene, seconds in (("@robot", 0.5), ("@fourbar", 2), ("@marbles", 0.5), ("@planar_web", 0.5)):
        check_gltf(scene, "a.glb", "--duration", seconds)
    check_gltf("@slider_crank:motor=9", "a.gltf", "--duration", 3)


@test
def both_gltf_files_say_the_same():
    export("@robot", "a.glb", "--duration", 0.3)
    export("@robot", "a.gltf", "--duration", 0.3)
    a, b = Gltf("a.glb"), Gltf("a.gltf")
    assert a.json == b.json and a.buffer == b.buffer


@test
def gltf_is_y_up_and_tells_how_it_was_made():
    gltf = check_gltf("@fourbar", "a.glb", "--duration", 0.2, "--h", 0.002)
    root = gltf.json["nodes"][gltf.json["scenes"][0]["nodes"][0]]
    x, y, z, w = root["rotation"]
    near(turn([w, x, y, z], [0, 0, 1]), [0, 1, 0], 1e-12)
    assert root["children"] == list(range(1, len(gltf.json["nodes"])))
    extras = gltf.json["scenes"][0]["extras"]
    assert extras["h"] == 0.002 and extras["steps"] == 100 and extras["method"] == "auto" and 0 <= extras["joint_error"] < 1e-6


@test
def what_rests_has_no_channels():
    scene = write("rest.json", {"tenon_scene": 1, "bodies": [
        {"name": "table", "kind": "static", "shapes": [{"type": "box", "half_size": [1, 1, 0.1]}]},
        {"name": "stone", "mass": 1, "position": [0, 0, 5], "shapes": [{"type": "sphere", "radius": 0.1}]}]})
    export(scene, "a.glb", "--duration", 0.2, "--h", 0.01)
    gltf = Gltf("a.glb")
    assert gltf.poses("table")[2] == set() and gltf.poses("stone")[2] == {"translation"}
    export(scene, "b.glb", "--duration", 0)
    assert "animations" not in Gltf("b.glb").json


@test
def surfaces_are_closed_and_face_outwards():
    cube = [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    inside = [[0.5, 0.2, 0.1], [0, 0, 1], [1, 1, 0], [0, 0, 0]]  # within, on a face, on an edge
    shapes = [({"type": "sphere", "radius": 2}, 4 / 3 * math.pi * 8, 0.05),
              ({"type": "box", "half_size": [1, 2, 3]}, 48, 1e-9),
              ({"type": "cylinder", "radius": 1, "half_length": 2}, 4 * math.pi, 0.02),
              ({"type": "capsule", "radius": 1, "half_length": 2}, 4 / 3 * math.pi + 4 * math.pi, 0.04),
              ({"type": "convex", "points": inside + cube}, 8, 1e-9)]
    pose = {"position": [3, 4, 5], "orientation": [0.5, 0.5, -0.5, 0.5]}
    bodies = [{"name": "b%d" % i, "mass": 1, "inertia": [1, 1, 1], "position": [20 * i, 0, 50], "shapes": [{**shape, **pose}]}
              for i, (shape, _, _) in enumerate(shapes)]
    export(write("shapes.json", {"tenon_scene": 1, "bodies": bodies}), "a.glb", "--duration", 0.1)
    gltf = Gltf("a.glb")
    for mesh, (shape, volume, tolerance) in zip(gltf.json["meshes"], shapes):
        got = gltf.volume(mesh["primitives"][0])
        assert volume * (1 - tolerance) - 1e-4 <= got <= volume * (1 + 1e-6), (shape, got, volume)
        normals = mesh["primitives"][0]["attributes"].get("NORMAL")
        if normals is not None:
            points = gltf.numbers(mesh["primitives"][0]["attributes"]["POSITION"])
            for p, n in zip(points, gltf.numbers(normals)):
                near([dot(n, n)], [1], 1e-5)
                assert dot(sub(p, pose["position"]), n) > 0.9, "a normal points inwards"


@test
def a_quaternion_of_any_length_turns_without_stretching():
    box, meshes = {"type": "box", "half_size": [1, 2, 3]}, []
    for q in ([1, 0, 1, 0], [0.5 ** 0.5, 0, 0.5 ** 0.5, 0]):
        body = {"name": "b", "mass": 1, "inertia": [1, 1, 1], "orientation": q, "shapes": [{**box, "orientation": q}]}
        export(write("box.json", {"tenon_scene": 1, "bodies": [body]}), "a.glb", "--duration", 0.1)
        gltf = Gltf("a.glb")
        primitive = gltf.json["meshes"][0]["primitives"][0]
        near([gltf.volume(primitive)], [48], 1e-4)
        meshes.append(gltf.json["accessors"][primitive["attributes"]["POSITION"]])
    near(meshes[0]["max"] + meshes[0]["min"], [3, 2, 1, -3, -2, -1], 1e-5)
    near(meshes[0]["max"] + meshes[0]["min"], meshes[1]["max"] + meshes[1]["min"], 1e-6)


@test
def bodies_without_shapes_have_bones():
    export("@fourbar", "a.glb", "--duration", 0.1)
    gltf = Gltf("a.glb")
    crank = next(node for node in gltf.json["nodes"] if node["name"] == "crank")
    primitive = gltf.json["meshes"][crank["mesh"]]["primitives"][0]
    low, high = (gltf.json["accessors"][primitive["attributes"]["POSITION"]][key] for key in ("min", "max"))
    size = sub(high, low)
    assert abs(max(size) - min(size) - 0.3) < 1e-3, "a rod as long as the crank, with round ends"
    assert gltf.volume(primitive) > 0


@test
def equal_surfaces_are_stored_once():
    export("@chain:n=50", "a.glb", "--duration", 0.1)
    gltf = Gltf("a.glb")
    assert len(gltf.json["meshes"]) == 50
    assert len({m["primitives"][0]["attributes"]["POSITION"] for m in gltf.json["meshes"]}) <= 3


@test
def the_validator_of_gltf_is_content():
    check = os.path.join(ROOT, "tests", "web", "gltf_check.mjs")
    if not shutil.which("node") or not os.path.isdir(os.path.join(ROOT, "web", "node_modules", "gltf-validator")):
        print("skipped: no gltf-validator; (cd web && npm ci) brings it")
        return
    heights = write("hills.json", {"tenon_scene": 1, "contact": {"ground": {"friction": 0.5}}, "bodies": [{"name": "hills", "kind": "static", "shapes": [
        {"type": "heights", "spacing": [1, 1], "heights": [[0, 0.1, 0], [0.2, 0, 0.1], [0, 0, 0.1]]}, {"type": "plane"}]}]})
    files = []
    for scene in ("@robot", "@fourbar", "@strandbeest:legs=2,walk=on", "@boxes", "@marbles", "@conveyor",
                  "@hair:n=5,strands=3", "@planar_web", CORNER, heights):
        for ending in (".glb", ".gltf"):
            files.append("v%d%s" % (len(files), ending))
            export(scene, files[-1], "--duration", 0.25)
    done = subprocess.run(["node", check, *files], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "", done.stdout + done.stderr
    broken = bytearray(open(files[0], "rb").read())
    broken = broken.replace(b'"byteOffset":', b'"byteOffest":', 3)
    open("broken.glb", "wb").write(broken)
    assert subprocess.run(["node", check, "broken.glb"], capture_output=True).returncode == 1


# ---- BVH

class Bvh:
    def __init__(self, path):
        head, motion = open(path).read().split("MOTION\n")
        self.joints, stack, words, at = [], [], head.split(), 1
        assert words[0] == "HIERARCHY"
        while at < len(words):
            word = words[at]
            if word in ("ROOT", "JOINT"):
                assert (word == "ROOT") == (not stack), "one root"
                self.joints.append({"name": words[at + 1], "parent": stack[-1] if stack else None})
                current, at = self.joints[-1], at + 2
            elif word == "End":
                current, at = {}, at + 2
            elif word == "{":
                stack.append(current)
                at += 1
            elif word == "}":
                stack.pop()
                at += 1
            elif word == "OFFSET":
                stack[-1]["offset"] = [float(x) for x in words[at + 1:at + 4]]
                at += 4
            elif word == "CHANNELS":
                stack[-1]["channels"] = words[at + 2:at + 2 + int(words[at + 1])]
                at += 2 + int(words[at + 1])
            else:
                raise AssertionError(word)
        assert not stack
        lines = motion.splitlines()
        assert lines[0] == "Frames: %d" % (len(lines) - 2), lines[0]
        self.frame_time = float(lines[1].split(":")[1])
        self.frames = [[float(x) for x in line.split()] for line in lines[2:]]
        assert all(len(frame) == sum(len(j["channels"]) for j in self.joints) for frame in self.frames)

    def places(self, frame):
        """World place and turn of each joint, z up. frame None: at rest."""
        values, found = iter(frame or []), {}
        for joint in self.joints:
            place, q = list(joint["offset"]), [1, 0, 0, 0]
            for channel in joint["channels"] if frame else []:
                value, axis = next(values), "XYZ".index(channel[0])
                if channel.endswith("position"):
                    place[axis] = value
                else:
                    half = math.radians(value) / 2
                    q = product(q, [math.cos(half)] + [math.sin(half) if k == axis else 0 for k in range(3)])
            if joint["parent"]:
                above, turned = found[joint["parent"]["name"]]
                place, q = add(above, turn(turned, place)), product(turned, q)
            found[joint["name"]] = (place, q)
        return {name: ([p[0], -p[2], p[1]], [q[0], q[1], -q[3], q[2]]) for name, (p, q) in found.items()}


def check_bvh(scene, *args):
    said = export(scene, "a.bvh", "--every", 5, *args)
    names, times, poses = trajectory(scene, "--every", 5, *args)
    bvh = Bvh("a.bvh")
    rest = bvh.places(None)
    assert len(bvh.frames) == len(times) and abs(bvh.frame_time - (times[1] - times[0])) < 1e-9
    for k, frame in enumerate(bvh.frames):
        found = bvh.places(frame)
        for i, name in enumerate(names):
            if name not in found:
                continue
            place, q = found[name]
            near(add(place, turn(q, sub(poses[0][i][:3], rest[name][0]))), poses[k][i][:3], 1e-5)
            same_turn(q, product(poses[k][i][3:], back(poses[0][i][3:])), 1e-6)
    for before, after in zip(bvh.frames, bvh.frames[1:]):
        assert all(abs(a - b) < 200 for a, b in zip(before, after)), "an angle jumps"
    return bvh, said


@test
def a_skeleton_moves_as_the_trajectory():
    bvh, said = check_bvh("@robot", "--duration", 1)
    assert len(bvh.joints) == 20 and bvh.joints[0]["parent"] is None and "0 joints that close" in said
    check_bvh("@humanoid", "--duration", 0.5)
    check_bvh("@chain:n=30", "--duration", 1)


@test
def a_loop_leaves_a_joint_out():
    bvh, said = check_bvh("@fourbar", "--duration", 3)
    assert [j["name"] for j in bvh.joints] == ["crank", "coupler", "rocker"] and "1 joint that closes loops left out" in said
    check_bvh("@strandbeest:legs=2", "--duration", 0.5)


@test
def a_slide_has_positions():
    bvh, _ = check_bvh("@slider_crank:motor=9", "--duration", 2)
    channels = {j["name"]: len(j["channels"]) for j in bvh.joints}
    assert channels["crank"] == 6 and 3 in channels.values()
    scene = write("slide.json", {"tenon_scene": 1, "bodies": [
        {"name": "rail", "mass": 1, "inertia": [1, 1, 1]},
        {"name": "cart", "mass": 1, "inertia": [1, 1, 1], "position": [1, 0, 0], "velocity": [0, 0, 0]}],
        "joints": [{"type": "hinge", "bodies": ["ground", "rail"], "anchor": [0, 0, 0], "axis": [0, 1, 0]},
                   {"type": "slider", "bodies": ["rail", "cart"], "anchor": [1, 0, 0], "axis": [1, 0, 0]}]})
    bvh, _ = check_bvh(scene, "--duration", 1, "--h", 0.01)
    assert [len(j["channels"]) for j in bvh.joints] == [6, 6]
    near(bvh.places(None)["cart"][0], [1, 0, 0], 1e-6)  # at the cart's own end of the slide


@test
def several_trees_have_a_common_root():
    bvh, said = check_bvh("@boxes", "--duration", 0.5)
    assert bvh.joints[0]["name"] == "scene" and all(j["parent"] is bvh.joints[0] for j in bvh.joints[1:]) and "roots" in said
    check_bvh("@hair:n=5,strands=2", "--duration", 0.3)


@test
def a_tumbling_body_does_not_jump_at_a_quarter_turn():
    for spin in ([3, 0, 0], [0, 3, 0], [0, 0, 3], [2, 3, 1]):
        check_bvh(write("spin.json", {"tenon_scene": 1, "gravity": [0, 0, 0], "bodies": [
            {"name": "top", "mass": 1, "inertia": [1, 2, 2.5], "angular_velocity": spin}]}), "--duration", 4, "--h", 0.01)


@test
def our_own_reader_takes_the_skeleton():
    export("@humanoid", "a.bvh", "--mocap", os.path.join(ROOT, "scenes", "walk.bvh"), "--duration", 1)
    done = tenon("run", "@humanoid", "--mocap", "a.bvh", "--mocap-scale", 1, "--duration", 0.1)
    assert done.returncode == 0 and "hash" in done.stdout, done.stderr


@test
def nothing_that_moves_is_no_skeleton():
    scene = write("still.json", {"tenon_scene": 1, "bodies": [{"name": "rock", "kind": "static"}]})
    done = tenon("export", scene, "--out", "a.bvh", "--quiet")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "no skeleton" in done.stderr, done.stderr


@test
def a_chain_of_thousands_is_written():
    export("@chain:n=3000", "a.bvh", "--duration", 0.02)
    assert len(Bvh("a.bvh").joints) == 3000


# ---- numpy and CSV

def read_npy(data):
    assert data[:8] == b"\x93NUMPY\x01\x00"
    (length,) = struct.unpack_from("<H", data, 8)
    assert (10 + length) % 64 == 0 and data[9 + length] == 10
    head = ast.literal_eval(data[10:10 + length].decode())
    assert head["fortran_order"] is False
    body = data[10 + length:]
    if head["descr"] == "<f8":
        values = array.array("d")
        values.frombytes(body)
    else:
        width = 4 * int(head["descr"][2:])
        values = [body[i:i + width].decode("utf-32-le").rstrip("\0") for i in range(0, len(body), width)]
    assert len(values) == math.prod(head["shape"])
    return head["shape"], values


@test
def npy_is_the_trajectory_bit_for_bit():
    export("@fourbar", "a.npy", "--duration", 0.2, "--h", 0.001, "--every", 7)
    names, times, poses = trajectory("@fourbar", "--duration", 0.2, "--h", 0.001, "--every", 7)
    shape, values = read_npy(open("a.npy", "rb").read())
    assert shape == (len(times), len(names), 13)
    for k in range(len(times)):
        for i in range(len(names)):
            at = 13 * (k * len(names) + i)
            assert list(values[at:at + 7]) == poses[k][i]
    export("@fourbar", "a.npy", "--duration", 0.2, "--h", 0.001)
    done = tenon("run", "@fourbar", "--duration", 0.2, "--h", 0.001, "--report", "-")
    last = json.loads(done.stdout)["bodies"]
    shape, values = read_npy(open("a.npy", "rb").read())
    assert shape[0] == 201, "every step"
    for i, body in enumerate(last):
        at = 13 * (200 * len(last) + i)
        assert list(values[at + 7:at + 13]) == body["velocity"] + body["angular_velocity"]


@test
def npz_has_it_all():
    scene = write("odd.json", {"tenon_scene": 1, "bodies": [
        {"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 1]}, {"name": "b\u00e4r \U0001f43b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 2]}],
        "joints": [{"name": "u", "type": "universal", "bodies": ["ground", "a"], "anchor": [0, 0, 0], "axis": [1, 0, 0], "axis2": [0, 1, 0]},
                   {"name": "h", "type": "hinge", "bodies": ["a", "b\u00e4r \U0001f43b"], "anchor": [0, 0, 1], "axis": [1, 0, 0]}]})
    export(scene, "a.npz", "--duration", 0.3, "--h", 0.01)
    names, times, poses = trajectory(scene, "--duration", 0.3, "--h", 0.01)
    report = json.loads(tenon("run", scene, "--duration", 0.3, "--h", 0.01, "--report", "-").stdout)
    with zipfile.ZipFile("a.npz") as archive:
        assert archive.testzip() is None
        arrays = {name[:-4]: read_npy(archive.read(name)) for name in archive.namelist()}
    assert list(arrays["time"][1]) == times and arrays["time"][0] == (len(times),)
    assert arrays["poses"][0] == (len(times), 2, 7) and list(arrays["poses"][1]) == [x for f in poses for b in f for x in b]
    assert list(arrays["velocities"][1][-12:]) == [x for b in report["bodies"] for x in b["velocity"] + b["angular_velocity"]]
    assert list(arrays["joints"][1][-3:]) == [x for j in report["joints"] for x in j["position"]]
    assert arrays["body_names"][1] == names and arrays["joint_names"][1] == ["u", "u", "h"]


@test
def csv_is_the_trajectory():
    export("@fourbar", "a.csv", "--duration", 0.1, "--every", 3)
    trajectory("@fourbar", "--duration", 0.1, "--every", 3)
    assert open("a.csv", "rb").read() == open("t.csv", "rb").read()


# ---- The command

@test
def films_have_sixty_frames_a_second():
    export("@fourbar", "a.glb", "--duration", 1, "--h", 0.001)
    assert 58 <= len(Gltf("a.glb").poses("crank")[0]) - 1 <= 61
    times = Gltf("a.glb").poses("crank")[0]
    assert times[-1] == 1 and times[1] == struct.unpack("f", struct.pack("f", 0.017))[0]
    export("@fourbar", "a.bvh", "--duration", 1, "--h", 0.05)
    assert len(Bvh("a.bvh").frames) == 21, "every step when steps are long"
    export("@pendulum:n=20", "a.bvh", "--duration", 0.5, "--h", 0.001, "--method", "adaptive")
    assert len(Bvh("a.bvh").frames) == 30


@test
def bad_paths_cost_one_line_each():
    scene = write("mine.json", {"tenon_scene": 1, "bodies": []})
    refused("export", scene, says="needs --out")
    refused("export", scene, "--out", "a.obj", says=".glb, .gltf, .bvh, .csv, .npy or .npz")
    refused("export", scene, "--out", "plain", says=".glb")
    refused("export", scene, "--out", "-", says="standard output")
    refused("export", "x.csv", "--out", "x.csv", says="it is the scene")
    refused("export", "@humanoid", "--mocap", "m.bvh", "--out", "m.bvh", says="it is the recorded motion")
    refused("export", scene, "--out", "no/where/a.glb", says="no/where")
    refused("export", scene, "--out", "no/where/a.csv", says="no/where")
    refused("export", scene, "--html", "a.html", says="does not belong to 'tenon export'")
    refused("run", scene, "--out", "a.glb", says="does not belong to 'tenon run'")
    refused("export", "--out", "a.glb", says="needs a scene")
    refused("exprot", scene, says="did you mean 'export'")


@test
def an_empty_scene_is_a_file_all_the_same():
    scene = write("empty.json", {"tenon_scene": 1, "bodies": []})
    for ending in ("glb", "gltf", "csv", "npy", "npz"):
        export(scene, "e." + ending, "--duration", 0.1)
    assert read_npy(open("e.npy", "rb").read())[0][1:] == (0, 13)


@test
def what_was_before_a_failure_is_written():
    scene = write("wild.json", {"tenon_scene": 1, "method": {"name": "multiplier", "h": 0.1, "duration": 1000}, "bodies": [
        {"name": "a", "mass": 1e-3, "inertia": [1e-6, 1e-6, 1e-6], "position": [1, 0, 0]}],
        "springs": [{"bodies": ["ground", "a"], "anchors": [[0, 0, 0], [0, 0, 0]], "stiffness": 1e9, "length": 0.5}]})
    done = tenon("export", scene, "--out", "a.npy", "--quiet")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, (done.returncode, done.stderr)
    shape, values = read_npy(open("a.npy", "rb").read())
    assert 1 <= shape[0] < 10001 and all(map(math.isfinite, values))


if __name__ == "__main__":
    sys.exit(main())
