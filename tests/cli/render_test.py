"""Pictures and films from outside: their sizes and moments, and what is left behind when something goes wrong.

Most of it is tried with a browser that only pretends (this file, started as one): it reads the page and sends pictures of its own. Where there is a
Chromium, that one draws, too. TENON in the environment names the program; an argument filters the tests by name.
"""
import base64
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

from tests import main, test

PATIENCE = 120


# ---- PNG ---------------------------------------------------------------------------------------------


def make_png(width, height, shade):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((x + shade) % 256 for x in range(3 * width)) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")


def read_png(path):
    """(width, height, rows of pixels); 8 bits a channel, as browsers write it."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6)
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    step, flat, rows = 3 if colour == 2 else 4, zlib.decompress(packed), []
    above = bytes(step * width)
    for y in range(height):
        rule, line = flat[y * (step * width + 1)], bytearray(flat[y * (step * width + 1) + 1:(y + 1) * (step * width + 1)])
        for x, byte in enumerate(line):
            a, b, c = line[x - step] if x >= step else 0, above[x], above[x - step] if x >= step else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[x] = (byte + (0, a, b, (a + b) // 2, nearest)[rule]) % 256
        rows.append([bytes(line[i:i + 3]) for i in range(0, len(line), step)])
        above = bytes(line)
    return width, height, rows


# ---- A browser that pretends -------------------------------------------------------------------------


def pretend(mood, address):
    """What the page would do. The mood says what goes wrong; the page's data goes to $SEEN."""
    port = int(address.split(":")[2].strip("/"))
    page = urllib.request.urlopen(address).read().decode()
    data = json.loads(re.search(r'<script id="tenon-data"[^>]*>(.*?)</script>', page, re.S)[1])
    with open(os.environ["SEEN"], "w") as file:
        json.dump(data, file)
    order = data["render"]
    key = base64.b64encode(os.urandom(16)).decode()
    wire = socket.create_connection(("127.0.0.1", port))
    wire.sendall(("GET /render HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
                  "Sec-WebSocket-Version: 13\r\nOrigin: http://127.0.0.1:%d\r\n\r\n" % (port, key, port)).encode())
    assert b" 101 " in wire.recv(4096)

    def send(payload):
        opcode = 1 if isinstance(payload, str) else 2
        data = payload.encode() if opcode == 1 else payload
        size = struct.pack(">B", 128 | len(data)) if len(data) < 126 else struct.pack(">BH", 254, len(data)) if len(data) < 65536 else struct.pack(">BQ", 255, len(data))
        wire.sendall(bytes([0x80 | opcode]) + size + b"\0\0\0\0" + data)

    count = 1 if order["strip"] else len(order["times"])
    wide = order["width"] * (len(order["times"]) if order["strip"] else 1)
    for i in range(count):
        if i == count // 2 and mood == "error":
            send("error: no picture\nat all")
        if i == count // 2 and mood == "noise":
            send(b"GIF89a" + bytes(100))
        if i == count // 2 and mood == "gone":
            wire.close()
        if i == count // 2 and mood in ("error", "noise", "gone", "mute"):
            time.sleep(PATIENCE)
        send(make_png(wide - (mood == "narrow"), order["height"], 40 * i))
    if mood == "more":
        send(make_png(wide, order["height"], 0))
    send("done")
    time.sleep(PATIENCE)  # it does not end by itself


# ---- The program -------------------------------------------------------------------------------------


class Room:
    """A folder of its own, with one for temporary files in it, and a browser that pretends."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="render")
        self.tmp, self.seen, self.browser = self.at("tmp"), self.at("seen"), self.at("browser")
        os.mkdir(self.tmp)
        with open(self.browser, "w") as file:
            file.write('#!/bin/sh\nexec "%s" "%s" --pretend "$MOOD" "$@"\n' % (sys.executable, os.path.abspath(__file__)))
        os.chmod(self.browser, 0o700)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def at(self, name):
        return os.path.join(self.path, name)

    def start(self, *args, scene="@pendulum:n=3", mood="", real=False, **more):
        environment = {**os.environ, "TMPDIR": self.tmp, "SEEN": self.seen, "MOOD": mood, "CHROMIUM": "" if real else self.browser, **more.pop("env", {})}
        return subprocess.Popen([TENON, "render", scene, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.path, env=environment, **more)

    def render(self, *args, **more):
        """(exit code, standard output, standard error); nothing may be left behind."""
        process = self.start(*args, **more)
        out, err = (text.decode() for text in process.communicate(timeout=PATIENCE))
        self.check_clean()
        return process.returncode, out, err

    def make(self, *args, **more):
        code, out, err = self.render(*args, **more)
        assert code == 0 and err == "", (code, err)
        return out

    def refuse(self, *args, says=(), code=1, **more):
        """One line on standard error that holds every word of says, and no file."""
        before = set(os.listdir(self.path)) | {"seen"}
        result, _, err = self.render(*args, "--quiet", **more)
        assert result == code and err.startswith("tenon: ") and err.count("\n") == 1, (result, err)
        for word in [says] if isinstance(says, str) else says:
            assert word in err, (word, err)
        assert set(os.listdir(self.path)) <= before, os.listdir(self.path)

    def check_clean(self):
        assert os.listdir(self.tmp) == [], os.listdir(self.tmp)
        assert not [name for name in os.listdir(self.path) if ".part" in name], os.listdir(self.path)
        assert not helpers_of(self.path), helpers_of(self.path)

    def page(self):
        with open(self.seen) as file:
            return json.load(file)


def helpers_of(path):
    """Processes that work in the room."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue  # it has just ended
        if any(word.startswith(("--user-data-dir=" + path, "file:" + path)) for word in words):
            found.append(words)
    return found


def catches_interrupt(pid):
    with open("/proc/%d/status" % pid) as file:
        caught = re.search(r"SigCgt:\s*(\w+)", file.read())[1]
    return int(caught, 16) >> (signal.SIGINT - 1) & 1


def film_facts(path):
    """(width, height, pictures, pictures a second) as ffprobe counts them."""
    words = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v", "-show_entries", "stream=width,height,nb_read_frames,r_frame_rate",
                            "-of", "json", path], capture_output=True, check=True, timeout=PATIENCE).stdout
    stream = json.loads(words)["streams"][0]
    above, below = stream["r_frame_rate"].split("/")
    return stream["width"], stream["height"], int(stream["nb_read_frames"]), int(above) / int(below)


def times_of(page):
    """Of the frames that the page has."""
    data, at, times = base64.b64decode(page["frames"]), 0, []
    while at < len(data):
        assert data[at:at + 4] == b"TNF1"
        times.append(struct.unpack_from("<d", data, at + 24)[0])
        at += struct.unpack_from("<I", data, at + 4)[0]
    return times


def near(a, b, tolerance=1e-9):
    assert len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b)), (a, b)


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# ---- Still pictures ----------------------------------------------------------------------------------


@test
def a_picture_is_of_the_end():
    with Room() as room:
        out = room.make("--duration", "0.1", "--out", "a.png", "--size", "33x21")
        assert read_png(room.at("a.png"))[:2] == (33, 21)
        size = os.path.getsize(room.at("a.png"))
        assert re.search(r"^pictures +1 of 33x21, in \S+ s$", out, re.M) and "written       a.png, %.4g kB\n" % (1e-3 * size) in out, out
        order = room.page()["render"]
        near(order["times"], [0.1])
        assert order["from"] is None and order["overlays"] == order["trails"] == [] and order["theme"] == "light" and order["strip"] is True


@test
def several_moments_stand_side_by_side():
    with Room() as room:
        room.make("--duration", "0.1", "--out", "a.png", "--at", "0.05,0,0.1", "--size", "32x20")
        assert read_png(room.at("a.png"))[:2] == (96, 20)
        near(room.page()["render"]["times"], [0.05, 0, 0.1])


@test
def looks_reach_the_page():
    with Room() as room:
        room.make("--duration", "0.02", "--out", "a.png", "--from", "-1.5,0.25", "--overlays", "error,forces", "--trail", "j1,j3", "--theme", "dark", "--quiet")
        order = room.page()["render"]
        assert order["from"] == [-1.5, 0.25] and order["overlays"] == ["error", "forces"] and order["trails"] == ["j1", "j3"] and order["theme"] == "dark"
        parts = struct.unpack_from("<I", base64.b64decode(room.page()["frames"]), 8)[0]
        assert parts == 3, parts  # what the overlays need, and no more


@test
def an_old_file_stays_until_the_new_one_is_whole():
    with Room() as room:
        with open(room.at("a.png"), "w") as file:
            file.write("old")
        room.refuse("--duration", "0.02", "--out", "a.png", mood="error")
        with open(room.at("a.png")) as file:
            assert file.read() == "old"
        room.make("--duration", "0.02", "--out", "a.png", "--size", "32x20")
        assert read_png(room.at("a.png"))[:2] == (32, 20)


@test
def frames_lie_around_the_moments():
    with Room() as room:
        room.make("--h", "0.001", "--duration", "4", "--out", "a.png", "--at", "0.5,1.2345", scene="@pendulum:n=1")
        times = times_of(room.page())
        assert times == sorted(times) and len(times) < 2100, len(times)
        for wanted in (0.5, 1.234, 1.235, 4):
            assert min(abs(t - wanted) for t in times) < 1e-9, wanted


# ---- Films -------------------------------------------------------------------------------------------


@test
def films_last_as_long_as_they_should():
    if not shutil.which("ffprobe"):
        return "there is no ffmpeg"
    with Room() as room:
        room.make("--duration", "0.5", "--out", "a.mp4", "--size", "64x48")
        assert film_facts(room.at("a.mp4")) == (64, 48, 15, 30)
        near(room.page()["render"]["times"], [i / 30 for i in range(15)])
        out = room.make("--duration", "0.2", "--out", "a.gif", "--size", "33x21", "--fps", "20", "--speed", "0.25")
        assert film_facts(room.at("a.gif")) == (33, 21, 16, 20)
        near(room.page()["render"]["times"], [i / 80 for i in range(16)])
        assert re.search(r"^pictures +16 of 33x21, 0.8 s at 20 a second, in ", out, re.M), out


@test
def a_motion_that_ends_early_has_a_film_up_to_there():
    if not shutil.which("ffprobe"):
        return "there is no ffmpeg"
    scene = {"tenon_scene": 1, "bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1]}],
             "joints": [{"name": "m", "type": "motor", "of": "slider", "bodies": ["ground", "a"], "anchor": [0, 0, 0], "axis": [1, 0, 0],
                         "velocity": {"keys": [{"time": 0, "value": 0}, {"time": 0.5, "value": 0}, {"time": 0.51, "value": 1e300}]}}]}
    with Room() as room:
        with open(room.at("s.json"), "w") as file:
            json.dump(scene, file)
        code, _, err = room.render("--duration", "2", "--h", "0.01", "--out", "a.mp4", "--size", "64x48", "--quiet", scene="s.json")
        assert code == 1 and "s.json: step" in err and err.count("\n") == 1, err
        count = film_facts(room.at("a.mp4"))[2]
        assert 10 <= count < 30, count


# ---- What goes wrong ---------------------------------------------------------------------------------


@test
def wrong_options_are_told_before_anything_is_done():
    with Room() as room:
        def wrong(*args, says, out="a.png"):
            room.refuse("--duration", "0.1", "--out", out, *args, says=says, code=2)
            assert not os.path.exists(room.seen)

        wrong(out="a.jpg", says="a.jpg")
        wrong(out="png", says="png")
        wrong(out="no/a.png", says=["no/a.png", "No such file"])
        wrong(out=os.path.join("tmp", "..", "..", "no", "a.gif"), says="a.gif")
        for value in ("10", "15x20", "20x5000", "20x20x20", "axb", "-20x20"):
            wrong("--size", value, says=["--size", value])
        wrong("--size", "33x20", out="a.mp4", says=["--size", "even"])
        for value in ("-1", "x", "0,,1", "1e999", ",".join(["0"] * 33)):
            wrong("--at", value, says="--at")
        wrong("--at", "0,0.2", says=["--at", "0.2", "0.1"])
        wrong("--at", "0", out="a.mp4", says="--at")
        wrong("--fps", "30", says="--fps")
        wrong("--speed", "2", says="--speed")
        wrong("--fps", "0", out="a.gif", says="--fps")
        wrong("--speed", "nan", out="a.gif", says="--speed")
        wrong("--speed", "0.001", "--fps", "240", "--duration", "1000", out="a.mp4", says="pictures")
        wrong("--duration", "100", "--size", "1000x1000", out="a.gif", says="gif")
        wrong("--from", "1", says="--from")
        wrong("--overlays", "force", says=["--overlays", "forces"])
        wrong("--trail", "j1,nobody", says=["--trail", "nobody"])
        wrong("--theme", "red", says="--theme")
        wrong("--html", "x.html", says="--html")
        os.mkdir(room.at("d.png"))
        wrong(out="d.png", says="d.png")
        room.refuse(says="--out", code=2)


@test
def a_browser_that_fails_is_told():
    with Room() as room:
        films = ["a.png"] + (["a.mp4"] if shutil.which("ffmpeg") else [])
        for out in films:
            args = ("--duration", "0.1", "--out", out, "--size", "32x20")
            room.refuse(*args, says=["/bin/false", "exit code 1"], env={"CHROMIUM": shutil.which("false")} if os.path.exists("/bin/false") else {})
            room.refuse(*args, mood="error", says="no picture?at all")
            room.refuse(*args, mood="noise", says=["browser", "something else"])
            room.refuse(*args, mood="narrow", says="something else")
            room.refuse(*args, mood="more", says="something else")
            room.refuse(*args, mood="gone", says="went away")
        room.refuse("--out", "a.png", env={"CHROMIUM": "/no/such"}, says=["CHROMIUM", "/no/such"])
        room.refuse("--out", "a.png", env={"CHROMIUM": "", "PATH": room.tmp}, says="Chromium")
        room.refuse("--out", "a.mp4", env={"PATH": room.tmp}, says="ffmpeg")


@test
def a_full_disk_is_told():
    def limit(bytes_):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))

    films = [("a.gif", "320x200", 4096)] if shutil.which("ffmpeg") else []
    with Room() as room:  # SIGXFSZ is ignored here, and so there: a write beyond fails
        for out, size, most in [("a.png", "320x200", 4096), ("a.png", "20x20", 512), *films]:  # the small one when it is closed
            room.refuse("--duration", "0.2", "--out", out, "--size", size, says=[out, "File too large"],
                        preexec_fn=limit(most), restore_signals=False, env={"SEEN": "/dev/null"})


@test
def ctrl_c_ends_everything():
    with Room() as room:
        for out, mood in [("a.png", "mute")] + ([("a.mp4", "mute")] if shutil.which("ffmpeg") else []):
            process = room.start("--duration", "0.1", "--out", out, "--quiet", mood=mood)
            wait_for(lambda: os.path.exists(room.seen))
            assert helpers_of(room.path)
            process.send_signal(signal.SIGINT)
            err = process.communicate(timeout=PATIENCE)[1].decode()
            assert process.returncode == 1 and err == "tenon: interrupted: '%s' is not written\n" % out, err
            room.check_clean()
            assert not os.path.exists(room.at(out))
            os.remove(room.seen)
        process = room.start("--duration", "1e6", "--out", "a.png", "--quiet", scene="@chain:n=100")  # while it simulates
        wait_for(lambda: os.path.exists(room.at("a.png.part0")) and catches_interrupt(process.pid))
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=PATIENCE)[1].decode()
        assert process.returncode == 1 and "interrupted" in err and err.count("\n") == 1, err
        room.check_clean()


# ---- With a browser ----------------------------------------------------------------------------------


def has_browser():
    return any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")))


@test
def a_browser_draws_a_strip():
    if not has_browser():
        return "there is no Chromium"
    with Room() as room:
        room.make("--duration", "0.6", "--out", "a.png", "--at", "0,0.6", "--size", "160x120", "--from", "-1.57,0.1", scene="@fourbar:motor=3", real=True)
        width, height, rows = read_png(room.at("a.png"))
        assert (width, height) == (320, 120)
        halves = [[row[:160] for row in rows], [row[160:] for row in rows]]
        for half in halves:
            assert len({pixel for row in half for pixel in row}) > 50, "an empty picture"
        moved = sum(a != b for one, two in zip(*halves) for a, b in zip(one, two))
        assert 100 < moved < 0.5 * 160 * 120, moved


@test
def a_browser_draws_a_film():
    if not has_browser() or not shutil.which("ffprobe"):
        return "there is no Chromium, or no ffmpeg"
    with Room() as room:
        room.make("--duration", "0.4", "--out", "a.mp4", "--fps", "10", "--size", "160x120", "--theme", "dark", scene="@fourbar:motor=3", real=True)
        assert film_facts(room.at("a.mp4")) == (160, 120, 4, 10)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pretend"]:
        pretend(sys.argv[2], sys.argv[-1])
        sys.exit(0)
    TENON = os.environ["TENON"]
    sys.exit(main())
