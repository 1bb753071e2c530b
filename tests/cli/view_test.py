"""The live server from outside: what browsers rely on, and what others try.

TENON in the environment names the program; an argument filters the tests by name.
"""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

from tests import main, test

TENON = os.environ["TENON"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # of RFC 6455, 1.3
PATIENCE = 120  # [s]; nothing takes so long, on whatever machine
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


# ---- The program, and somebody who talks to it -------------------------------------------------------


class Server:
    """`tenon view`, ended by ctrl-C: it must say how it went and nothing else, with exit code 0."""

    def __init__(self, scene="@pendulum:n=3", *args):
        self.process = subprocess.Popen([TENON, "view", scene, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"watch (\S+) at http://127\.0\.0\.1:(\d+)/ \(ctrl-C ends it\)\n", self.line)
        assert found, (self.line, self.process.stderr.read1().decode())
        assert found[1] == scene
        self.port = int(found[2])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
            self.process.communicate()
        else:
            self.end()

    def end(self):
        if self.process.returncode is not None:
            return None
        self.process.send_signal(signal.SIGINT)
        out, err = (text.decode() for text in self.process.communicate(timeout=PATIENCE))
        assert self.process.returncode == 0 and err == "", (self.process.returncode, err)
        assert re.fullmatch(r"simulated \S+ s in \d+ steps, joint error at most \S+(, \S+ x real time)?\n", out), out
        return out

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, path="/", method="GET", host=None, more=""):
        """(status, fields, body) of one request."""
        return self.send("%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (method, path, host or "127.0.0.1:%d" % self.port, more))

    def send(self, text):
        with self.connect() as connection:
            connection.sendall(text.encode("latin-1"))
            return answer(connection)

    def upgrade(self, origin=None, host=None, more="", key=KEY, version=13):
        origin = origin or "http://127.0.0.1:%d" % self.port
        return self.ask("/live", host=host, more=handshake(origin, key, version) + more)

    def page(self, **more):
        return Page(self, **more)


def handshake(origin, key=KEY, version=13):
    fields = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: %d\r\n"
    return (fields % (key, version)) + ("Origin: %s\r\n" % origin if origin != "none" else "")


def answer(connection):
    data = b""
    while True:
        chunk = connection.recv(1 << 16)
        data += chunk
        head, end, body = data.partition(b"\r\n\r\n")
        if not chunk or (end and b" 101 " in head):
            break
    assert end, data
    first, *lines = head.decode().split("\r\n")
    assert re.fullmatch(r"HTTP/1\.1 \d\d\d [A-Z][A-Za-z ]+", first), first
    return int(first.split()[1]), dict(line.split(": ", 1) for line in lines), body


class Closed(Exception):
    """The other side has said good-bye, with a code; or has not, and just went."""


class Page:
    """A WebSocket as a browser has it."""

    def __init__(self, server, room=None):
        self.socket = socket.socket()
        if room:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", server.port))
        text = "GET /live HTTP/1.1\r\nHost: localhost:%d\r\n%s\r\n" % (server.port, handshake("http://localhost:%d" % server.port))
        self.socket.sendall(text.encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            self.more()
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def more(self):
        try:
            chunk = self.socket.recv(1 << 16)
        except ConnectionResetError:
            chunk = b""
        if not chunk:
            raise Closed(None)
        self.data += chunk

    def take(self, count):
        while len(self.data) < count:
            self.more()
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def frame(self):
        """(opcode, payload) of whatever comes next; a server does not mask."""
        first, length = self.take(2)
        assert first & 0xf0 == 0x80 and length < 128
        if length == 126:
            length, = struct.unpack(">H", self.take(2))
        elif length == 127:
            length, = struct.unpack(">Q", self.take(8))
        return first & 15, self.take(length)

    def next(self, wanted):
        """The next one of that opcode, others being passed over."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            opcode, payload = self.frame()
            if opcode == CLOSE:
                raise Closed(struct.unpack(">H", payload[:2])[0] if payload else None)
            if opcode == wanted:
                return payload
            if opcode == TEXT and json.loads(payload)["type"] == "stopped":  # no more frames will come
                raise AssertionError(payload.decode())
        raise AssertionError("nothing of %d comes" % wanted)

    def message(self, kind):
        """The next message of a type."""
        while True:
            message = json.loads(self.next(TEXT))
            if message["type"] == kind:
                return message

    def moment(self):
        return Moment(self.next(BINARY))

    def until(self, condition):
        """The first moment that is as wanted."""
        end = time.monotonic() + PATIENCE
        while True:
            moment = self.moment()
            if condition(moment):
                return moment
            assert time.monotonic() < end, vars(moment)

    def send(self, payload, opcode=TEXT, last=True, masked=True):
        payload = payload.encode() if isinstance(payload, str) else payload
        mask, length = os.urandom(4), len(payload)
        head = bytes([(0x80 if last else 0) | opcode])
        size = bytes([length]) if length < 126 else struct.pack(">BH", 126, length) if length < 65536 else struct.pack(">BQ", 127, length)
        size = bytes([size[0] | (0x80 if masked else 0)]) + size[1:]
        body = mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)) if masked else payload
        self.socket.sendall(head + size + body)

    def say(self, line):
        self.send(line)

    def closed(self):
        """The code with which the server ends it."""
        try:
            self.next(CLOSE)
        except Closed as end:
            return end.args[0]

    def vanish(self):
        """Gone without a word: the other side gets a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Moment:
    def __init__(self, data):
        assert data[:4] == b"TNF1" and struct.unpack_from("<I", data, 4)[0] == len(data) and len(data) % 8 == 0
        self.parts, flags = struct.unpack_from("<II", data, 8)
        self.playing, self.stopped = bool(flags & 1), bool(flags & 2)
        self.step, self.time = struct.unpack_from("<dd", data, 16)
        bodies, joints, coordinates, contacts, handles = struct.unpack_from("<5I", data, 88)
        words = 7 * bodies
        for part, size in ((1, joints), (2, 6 * joints), (4, coordinates), (8, (joints + 31) // 32), (16, 10 * contacts)):
            words += size if self.parts & part else 0
        self.handles = {}
        for i in range(handles):
            numbers = struct.unpack_from("<11f", data, 112 + 4 * words + 44 * i)
            self.handles[int(numbers[0])] = numbers[1:]


# ---- Pages -------------------------------------------------------------------------------------------


@test
def the_page_is_served():
    with Server() as server:
        for path in ("/", "/?anything=1"):
            status, fields, body = server.ask(path)
            assert status == 200 and len(body) == int(fields["Content-Length"])
            assert body.startswith(b"<!") and body.count(b'{"source": "live"}') == 1
        assert server.ask("/", host="localhost:%d" % server.port)[0] == 200
        assert fields["Content-Type"] == "text/html; charset=utf-8"
        status, fields, body = server.ask("/", method="HEAD")
        assert status == 200 and int(fields["Content-Length"]) > 0 and body == b""
        status, fields, body = server.ask("/favicon.ico")
        assert status == 204 and body == b""
        for path in ("/other", "/live/", "//", "/index.html"):
            status, fields, body = server.ask(path)
            assert status == 404 and body.count(b"\n") == 1, body
        for method in ("POST", "PUT", "get", "OPTIONS"):
            assert server.ask("/", method=method)[0] == 405


@test
def every_answer_keeps_others_out():
    with Server() as server:
        for path in ("/", "/favicon.ico", "/other"):
            fields = server.ask(path)[1]
            assert fields["Cache-Control"] == "no-store" and fields["X-Content-Type-Options"] == "nosniff"
            assert fields["Cross-Origin-Resource-Policy"] == "same-origin"
            policy = dict(rule.split(" ", 1) for rule in fields["Content-Security-Policy"].split("; "))
            assert policy["default-src"] == "'none'" and policy["script-src"] == "'unsafe-inline'"
            assert policy["worker-src"] == "blob:" and policy["frame-ancestors"] == "'none'"
            assert policy["connect-src"].split()[0] == "'self'" and "Access-Control-Allow-Origin" not in fields


@test
def only_this_machine_is_listened_to():
    with Server() as server:
        for name in {socket.gethostname(), "127.0.0.2"}:
            try:
                socket.create_connection((name, server.port), timeout=1).close()
            except OSError:
                continue
            assert socket.gethostbyname(name) == "127.0.0.1", name


@test
def other_hosts_are_refused():
    with Server() as server:
        wrong = ["example.com", "example.com:%d" % server.port, "127.0.0.1", "localhost", "127.0.0.1:1", "127.0.0.1.example.com:%d" % server.port,
                 "127.0.0.1:%d0" % server.port, "0.0.0.0:%d" % server.port, "[::1]:%d" % server.port, " "]
        for host in wrong:
            for path in ("/", "/live", "/other"):
                status, _, body = server.ask(path, host=host)
                assert status == 403 and body.count(b"\n") == 1, (host, status)
        assert server.upgrade(host="example.com:%d" % server.port)[0] == 403
        assert server.send("GET / HTTP/1.1\r\n\r\n")[0] == 400


@test
def other_origins_are_refused():
    with Server() as server:
        here = "127.0.0.1:%d" % server.port
        for origin in ("http://example.com", "https://" + here, "http://127.0.0.1", "http://" + here + ".example.com", "null", "none", "file://",
                       "http://127.0.0.1:1", "http://" + here + "/"):
            status, _, body = server.upgrade(origin=origin)
            assert status == 403 and b"Origin" in body, (origin, status)
        for origin in ("http://" + here, "http://localhost:%d" % server.port):
            assert server.upgrade(origin=origin)[0] == 101


@test
def the_handshake_is_that_of_the_standard():
    with Server() as server:
        status, fields, _ = server.upgrade()
        assert status == 101 and fields["Sec-WebSocket-Accept"] == ACCEPT
        assert fields["Upgrade"].lower() == "websocket" and fields["Connection"].lower() == "upgrade"
        status, fields, _ = server.upgrade(version=8)
        assert status == 426 and fields["Sec-WebSocket-Version"] == "13"
        for key in ("short==", KEY[:-1] + "A", KEY + "=", "dGhlIHNhbXBs?SBub25jZQ=="):
            assert server.upgrade(key=key)[0] == 400, key
        assert server.ask("/live", more="Origin: http://127.0.0.1:%d\r\n" % server.port)[0] == 426
        assert server.upgrade(more="Origin: http://example.com\r\n")[0] == 400  # twice


@test
def bad_requests_get_a_line():
    with Server() as server:
        host = "Host: 127.0.0.1:%d\r\n" % server.port
        for text in ("hello\r\n\r\n", "\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET  / HTTP/1.1\r\n" + host + "\r\n", "GET / HTTP/1.1\n\n",
                     "GET / HTTP/1.1\r\n" + host + host + "\r\n", "GET / HTTP/1.1\r\n" + host + " folded\r\n\r\n", "GET http://x/ HTTP/1.1\r\n" + host + "\r\n",
                     "GET / HTTP/1.1\r\n" + host + "Odd\x01: x\r\n\r\n", "GET / HTTP/1.1\r\n" + host + "Odd: \x01\r\n\r\n", "\x16\x03\x01\x02\x00\x01\xfc\r\n\r\n"):
            status, _, body = server.send(text)
            assert status == 400 and body.count(b"\n") == 1, (text, status)
        assert server.ask("/")[0] == 200


@test
def a_large_head_is_refused():
    with Server() as server:
        assert server.ask("/", more="X: %s\r\n" % ("x" * 7000))[0] == 200
        assert server.ask("/", more="X: %s\r\n" % ("x" * 9000))[0] == 431
        assert server.send("GET /" + "x" * (1 << 20))[0] == 431


@test
def a_request_may_come_byte_by_byte():
    with Server() as server, server.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for c in "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.port:
            connection.sendall(c.encode())
        connection.shutdown(socket.SHUT_WR)
        assert answer(connection)[0] == 200


@test
def too_many_connections_are_told_so():
    with Server() as server:
        idle = [server.connect() for _ in range(16)]
        status, _, body = server.ask("/")
        assert status == 503 and body.count(b"\n") == 1
        for connection in idle:
            connection.close()
        end = time.monotonic() + PATIENCE
        while server.ask("/")[0] != 200:
            assert time.monotonic() < end


@test
def who_never_finishes_a_request_is_dropped():
    with Server() as server, server.connect() as slow, server.page() as page:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        assert slow.recv(1) == b"", "an answer to half a question"
        page.moment()


# ---- WebSockets --------------------------------------------------------------------------------------


@test
def a_page_gets_the_mechanism_and_then_frames():
    with Server() as server, server.page() as page:
        opcode, first = page.frame()
        hello = json.loads(first)
        assert opcode == TEXT and hello["type"] == "hello" and re.fullmatch(r"\d+\.\d+\.\d+", hello["tenon"])
        opcode, second = page.frame()
        mechanism = json.loads(second)
        assert mechanism["type"] == "mechanism" and mechanism["origin"] == "@pendulum:n=3" and len(mechanism["bodies"]) == 3
        assert mechanism["settings"]["playing"] is True
        first = page.moment()
        assert page.until(lambda m: m.time > first.time + 0.1).step > first.step


@test
def a_reloaded_page_gets_the_mechanism_again():
    with Server() as server:
        for _ in range(3):
            with server.page() as page:
                assert len(page.message("mechanism")["bodies"]) == 3
                page.moment()


@test
def paused_means_at_rest():
    with Server("@pendulum:n=3", "--paused") as server, server.page() as page:
        assert page.message("mechanism")["settings"]["playing"] is False
        moment = page.moment()
        assert moment.time == 0 and not moment.playing
        page.say("step 3")
        assert page.until(lambda m: m.step == 3).time > 0
        page.say("play")
        page.until(lambda m: m.step > 10 and m.playing)


@test
def nobody_watches_nothing_moves():
    speed = 10
    with Server() as server:
        begun = time.monotonic()
        with server.page() as page:
            page.say("speed %d" % speed)
            page.message("settings")
            page.until(lambda m: m.time > 1)
        server.ask("/favicon.ico")  # what is answered was read after the end of that page
        watched = time.monotonic() - begun
        time.sleep(2)
        begun = time.monotonic()
        with server.page() as page:
            now = page.moment().time
            watched += time.monotonic() - begun
        assert 1 < now < speed * watched + 0.1, (now, watched)  # two seconds more would be 20


@test
def large_messages_are_closed_with_1009():
    with Server() as server:
        with server.page() as page:
            page.send("x" * 65536)
            assert page.message("notice")["level"] == "error"
            page.send("x" * 65537)
            assert page.closed() == 1009
        with server.page() as page:
            page.send("x" * 60000, last=False)
            page.send("x" * 5537, opcode=0)
            assert page.closed() == 1009
        with server.page() as page:  # told by its head alone
            page.socket.sendall(b"\x81\xff" + struct.pack(">Q", 1 << 62) + b"mask")
            assert page.closed() == 1009


@test
def broken_frames_are_closed_with_1002():
    with Server() as server:
        with server.page() as page:
            page.send("pause", masked=False)
            assert page.closed() == 1002
        for bytes_ in (b"\xc1\x80mask", b"\x83\x80mask", b"\x8b\x80mask", b"\x80\x80mask", b"\x09\x80mask", b"\x89\xfe\x00\x7e" + b"mask" + 126 * b"x",
                       b"\x81\xfe\x00\x05maskmask1", b"\x81\xff" + struct.pack(">Q", 200) + b"mask" + 200 * b"x", b"\x01\x80mask\x81\x80mask",
                       b"\x88\x81\x00\x00\x00\x00\x03", b"\x88\x82\x00\x00\x00\x00\x03\xed"):
            with server.page() as page:
                page.socket.sendall(bytes_)
                assert page.closed() == 1002, bytes_


@test
def text_that_is_not_utf8_is_closed_with_1007():
    with Server() as server:
        for text in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"play \xe2\x82"):
            with server.page() as page:
                page.send(text)
                assert page.closed() == 1007, text
        with server.page() as page:
            page.send("\u20ac\U0001f600")
            assert page.message("notice")["level"] == "error"
        with server.page() as page:
            page.send(b"\x03\xe8\xff", opcode=CLOSE)
            assert page.closed() == 1007


@test
def binary_is_closed_with_1003():
    with Server() as server, server.page() as page:
        page.send(b"play", opcode=BINARY)
        assert page.closed() == 1003


@test
def a_message_may_come_in_fragments():
    with Server() as server, server.page() as page:
        page.send("pau", last=False)
        page.send("hello", opcode=PING)  # may stand in between
        page.send("", opcode=0, last=False)
        page.send("se", opcode=0)
        assert page.next(PONG) == b"hello"
        assert page.message("settings")["playing"] is False
        page.send("", last=False)
        page.send("", opcode=0)
        assert page.message("notice")["level"] == "error"


@test
def pings_and_closes_are_answered():
    with Server() as server, server.page() as page:
        for payload in (b"", b"x" * 125):
            page.send(payload, opcode=PING)
            assert page.next(PONG) == payload
        page.send(b"", opcode=PONG)
        page.send(struct.pack(">H", 3001) + b"bye", opcode=CLOSE)
        assert page.closed() == 3001
    with Server() as server, server.page() as page:
        page.send(b"", opcode=CLOSE)
        assert page.closed() == 1000


# ---- Commands ----------------------------------------------------------------------------------------


@test
def malformed_commands_are_answered_and_nothing_ends():
    wrong = ["", " ", "x", "play now", "step -1", "step x", "speed 0", "speed nan", "set", "set h", "set h x", "set no.such 1", "gravity 1 2", "gravity 0 0 inf",
             "joint", "joint 99 stiffness 1", "joint -1 damping 1", "grab", "grab 0", "grab x 0 0 0 0", "grab 8 0 0 0 0", "grab -1 0 0 0 0", "grab 0 99 0 0 0",
             "grab 0 0 nan 0 0", "grab  0 0 0 0 0", "move", "move 0 0 0 0", "move 7 1 1 1", "release", "release 3", "release 12345678901234567890", "show x",
             "show 99", "camera 1", "scene @chain", "scene {}", "play\n", "play\0", "\0", "pause" * 1000]
    with Server() as server, server.page() as page:
        for line in wrong:
            page.say(line)
            notice = page.message("notice")
            assert notice["level"] == "error" and notice["text"], line
        before = page.moment()
        assert page.until(lambda m: m.time > before.time + 0.1).playing


@test
def a_scene_stays():
    with Server() as server, server.page() as page:
        page.say("scene @fourbar")
        assert "scene" in page.message("notice")["text"]


@test
def two_pages_see_one_simulation():
    with Server() as server, server.page() as one, server.page() as two:
        one.say("pause")
        for page in (one, two):
            assert page.message("settings")["playing"] is False
        two.say("step 5")
        two.say("nonsense")
        assert two.message("notice")["level"] == "error"
        one.say("play")
        two.until(lambda m: m.playing)
        steps = []
        while len(steps) < 20:
            opcode, payload = one.frame()  # what was wrong in one page is not told in the other
            assert opcode != TEXT or json.loads(payload)["type"] != "notice", payload
            if opcode == BINARY:
                steps.append(Moment(payload).step)
        assert steps == sorted(steps)


@test
def two_pages_drag_at_once():
    with Server() as server, server.page() as one, server.page() as two:
        one.say("grab 0 2 0 0 0")
        one.until(lambda m: list(m.handles) == [0])
        two.say("grab 0 1 0 0 0")
        moment = two.until(lambda m: len(m.handles) == 2)
        assert sorted(moment.handles)[0] == 0 and sorted(moment.handles)[1] >= 8, moment.handles
        assert moment.handles[0][0] == 1  # its body
        assert one.until(lambda m: len(m.handles) == 2).handles[0][0] == 2
        one.say("move 0 1 2 3")
        moment = one.until(lambda m: m.handles[0][4:7] == (1, 2, 3))
        two.say("release 0")
        assert list(one.until(lambda m: len(m.handles) == 1).handles) == [0]
        one.say("release 0")
        one.until(lambda m: not m.handles)


@test
def a_page_that_vanishes_lets_go():
    with Server() as server, server.page() as stays:
        gone = server.page()
        for i in range(8):
            gone.say("grab %d %d 0 0 0" % (i, i % 3))
        stays.until(lambda m: len(m.handles) == 8)
        stays.say("grab 3 0 0 0 0")
        assert "handle" in stays.message("notice")["text"]
        gone.vanish()
        stays.until(lambda m: not m.handles)
        stays.say("grab 3 0 0 0 0")
        assert list(stays.until(lambda m: m.handles).handles) == [3]


@test
def a_refused_grab_takes_no_handle():
    with Server() as server, server.page() as clumsy, server.page() as page:
        for i in range(8):
            clumsy.say("grab %d 99 0 0 0" % i)
            clumsy.message("notice")
        for i in range(8):
            page.say("grab %d 0 0 0 0" % i)
        page.until(lambda m: sorted(m.handles) == list(range(8)))


@test
def frames_have_what_anybody_wants():
    with Server() as server, server.page() as one:
        one.say("show 1")
        one.until(lambda m: m.parts == 1)
        with server.page() as two:
            two.say("show 4")
            one.until(lambda m: m.parts == 5)
        one.until(lambda m: m.parts == 1)


@test
def pages_that_come_and_go_leave_nothing():
    with Server() as server:
        for i in range(60):
            page = server.page()
            page.say("grab 0 0 0 0 0")
            page.vanish() if i % 2 else page.socket.close()
        with server.page() as page:
            page.until(lambda m: not m.handles)
            page.say("grab 0 0 0 0 0")
            page.until(lambda m: list(m.handles) == [0])


@test
def a_slow_page_does_not_hold_up_another_one():
    with Server("@chain:n=3000", "--method", "implicit", "--h", "0.0166") as server:  # large frames, of what never stops
        with server.page(room=4096) as slow, server.page() as quick:
            taken, count = 0, 0
            while taken < 1 << 22:  # far more than the system keeps for the slow one
                taken += len(quick.next(BINARY))
                count += 1
            now = quick.moment()
            seen = [slow.moment()]
            while seen[-1].step < now.step:
                seen.append(slow.moment())
            assert len(seen) < count, (len(seen), count)  # it was spared old frames
            quick.until(lambda m: m.step > now.step)


@test
def a_flood_of_commands_does_not_drown_others():
    with Server() as server, server.page() as loud, server.page() as calm:
        loud.socket.setblocking(False)
        lines = 1000 * b"\x81\x84\0\0\0\0play"
        before, sent, frames = calm.moment(), 0, 0
        while sent < 1 << 23 and frames < 60:  # until it is not listened to any more: it takes nothing of what it is told
            try:
                sent += loud.socket.send(lines[sent % len(lines):])
                frames = 0
            except BlockingIOError:
                calm.moment()
                frames += 1
        assert calm.until(lambda m: m.time > before.time + 0.2).playing
        loud.socket.settimeout(PATIENCE)
        loud.moment()  # nor is it lost


# ---- The command line --------------------------------------------------------------------------------


@test
def ctrl_c_ends_it():
    with Server() as server, server.page() as page:
        page.until(lambda m: m.time > 0.2)
        summary = server.end()
        assert page.closed() == 1001
        words = summary.split()
        assert float(words[1]) > 0.2 and int(words[4]) > 1 and "x real time" in summary, summary
    with Server() as server:  # nobody ever came
        assert server.end().startswith("simulated 0 s in 0 steps")


@test
def what_cannot_be_served_is_said():
    def refused(*args, says):
        done = subprocess.run([TENON, "view", *args], capture_output=True, timeout=PATIENCE)
        err = done.stderr.decode()
        assert done.returncode == 2 and done.stdout == b"" and err.startswith("tenon: ") and err.count("\n") == 1, (done, args)
        assert says in err, err

    refused(says="needs a scene")
    refused("nothing.json", says="nothing.json")
    refused("@nothing", says="nothing")
    refused("@chain", "--port", "65536", says="--port")
    refused("@chain", "--port", "x", says="--port")
    refused("@chain", "--html", "x.html", says="does not belong")
    refused("@chain", "--set", "no.such=1", says="no.such")
    with Server() as server:
        refused("@chain", "--port", str(server.port), says="127.0.0.1:%d" % server.port)


@test
def options_reach_the_simulation():
    with Server("@pendulum:n=3", "--h", "0.002", "--method", "impulse", "--set", "impulse.tolerance=1e-7") as server, server.page() as page:
        settings = page.message("mechanism")["settings"]
        assert settings["h"] == 0.002 and settings["method"] == "impulse" and float(settings["values"]["impulse.tolerance"]) == 1e-7


if __name__ == "__main__":
    sys.exit(main())
