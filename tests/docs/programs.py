"""Programs of pages and of examples/, compiled as a user would, against the public headers and the library that lies
beside the program TENON names in the environment."""
import os
import re
import subprocess
import tempfile

TENON = os.environ["TENON"]
BUILD = os.path.dirname(TENON)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def blocks(page, language):
    """The code blocks of a page in a language."""
    return re.findall("^```%s\n(.*?)^```" % language, page, re.M | re.S)


def cache(name, default=""):
    """A setting of the build, from CMake's cache."""
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search("^%s:[A-Z]+=(.*)$" % name, file.read(), re.M)
    return found.group(1) if found else default


def build(folder, name, source):
    path = os.path.join(folder, name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    command = [cache("CMAKE_C_COMPILER", "cc"), "-std=c17", "-Wall", "-Wextra", "-Werror", "-O1"]
    if cache("TENON_SANITIZE"):
        command.append("-fsanitize=" + cache("TENON_SANITIZE"))
    command += ["-I" + os.path.join(ROOT, "include"), path + ".c", "-o", path, "-L" + BUILD, "-ltenon"]
    command += ["-Wl,-rpath," + BUILD, "-lm"]
    if cache("TENON_CHOLMOD") == "ON":
        command += ["-lcholmod"]
    subprocess.run(command, check=True, timeout=120)
    return path


def output(*command):
    done = subprocess.run(command, capture_output=True, timeout=300, text=True)
    if done.returncode != 0:
        raise AssertionError("%s: exit code %d: %s" % (command[0], done.returncode, done.stderr))
    return done.stdout


def scene_file(folder, name):
    """A built-in scene as a file."""
    path = os.path.join(folder, re.sub(r"\W.*", "", name) + ".json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(output(TENON, "scene", name))
    return path


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def run_all(programs, checks):
    """programs: (name, source); checks: by name, called with the program's path and a folder. Returns the exit code."""
    passed = failed = 0
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        for name, source in programs:
            found.add(name)
            try:
                checks[name](build(folder, name, source), folder)
                passed += 1
            except (AssertionError, AttributeError, KeyError, ValueError, subprocess.SubprocessError) as reason:
                failed += 1
                print("FAILED %s: %r" % (name, reason))
    if found != set(checks):
        failed += 1
        print("FAILED programs: %r, checked are %r" % (sorted(found), sorted(checks)))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0
