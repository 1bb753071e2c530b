"""What pages show works: scenes are read, programs compile, commands name commands, options, settings and scenes that
there are, and the output shown for the README's first mechanism is the output.

Programs that have a test of their own (examples, docs/driving.md) are left to it. TENON in the environment names the
program.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from programs import ROOT, TENON, blocks, build, check, output, read

PAGES = ["README.md", "CONTRIBUTING.md", "bench/README.md"] + sorted(
    "docs/" + name for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md"))
COMMANDS = ("run", "view", "export", "plot", "render", "accel", "check", "scene", "bench", "help")


def tenon(*words, stdin=None, folder=None):
    return subprocess.run([TENON, *words], input=stdin, capture_output=True, text=True, timeout=120, cwd=folder,
                          check=False)


# ---- Scenes --------------------------------------------------------------------------------------

def check_scenes(page, text):
    """Every JSON block with "tenon_scene" is a scene that can be read; returns how many there were."""
    count = 0
    for block in blocks(text, "json"):
        if '"tenon_scene"' not in block:
            json.loads(block)
            continue
        done = tenon("check", "-", "--report", "-", stdin=block)
        closes_not = "cannot close" in done.stderr  # a mechanism that is shown for that
        check(done.returncode in (0, 1) or closes_not, "%s: %s\n%s" % (page, done.stderr, block))
        count += 1
    return count


# ---- Programs ------------------------------------------------------------------------------------

def check_programs(page, text, folder):
    """Every C block with a main compiles. Of those without input, what they print stands on the page."""
    count = 0
    for i, block in enumerate(blocks(text, "c")):
        if "int main(" not in block or re.match(r"// \w+(\.c)?: ", block):
            continue
        path = build(folder, re.sub(r"\W", "_", page) + str(i), block)
        promised = re.search(r"It prints `([^`]+)`", text)
        if promised:
            check(output(path).strip() == promised.group(1), "%s prints %r" % (page, output(path)))
        count += 1
    return count


# ---- Commands ------------------------------------------------------------------------------------

def commands_of(text):
    """(words) of each tenon command in a block or in backticks."""
    shown = [part for i, part in enumerate(re.split(r"^```", text, flags=re.M)) if i % 2 and part[:1] == "\n"]
    shown += re.findall(r"^    (?:\$ )?((?:\S*/)?tenon .*)$", text, re.M) + re.findall(r"`(tenon [^`]+)`", text)
    for line in "\n".join(shown).splitlines():
        for part in re.split(r"\s&&\s|\s\|\s|;\s", re.sub(r"(^|\s)#.*", "", line)):
            found = re.match(r"\s*(?:\$ )?(?:\S*/)?tenon (.*)", part)
            if not found:
                continue
            try:
                words = shlex.split(re.split(r"\s\s+|\s>", found.group(1))[0])
            except ValueError:
                continue
            if words and words[0] in COMMANDS and not any(re.search(r"[A-Z]{2,}|[<>\[\]\u2026]|\.\.\.", w) for w in words[1:2]):
                yield words


def check_command(page, words, helps, known):
    """The options, settings and the built-in scene of a command are there."""
    for word in words[1:]:
        option = word.split("=")[0]
        if option.startswith("--") and option != "--help" and option + " " not in helps[words[0]]:
            raise AssertionError("%s: tenon %s has no option %s" % (page, words[0], option))
    settings = [word[6:] for word in words if word.startswith("--set=")]
    for key in settings + [words[i + 1] for i, word in enumerate(words[:-1]) if word == "--set"]:
        if "=" in key and key not in known:
            done = tenon("accel", "@pendulum:n=2", "--set", key, "--quiet")
            bad = done.returncode == 2 and "does not serve" not in done.stderr and "has no" not in done.stderr
            check(not bad or "wants" in done.stderr, "%s: --set %s: %s" % (page, key, done.stderr))
            known.add(key)
    scene = next((word for word in words[1:] if re.fullmatch(r"@[\w:=,.*-]+", word)), None)
    if words[0] == "scene" and len(words) > 1 and not words[1].startswith("-"):
        scene = words[1]
    if scene and scene not in known and not scene.startswith("@NAME"):
        done = tenon("scene", scene)
        check(done.returncode == 0, "%s: %s: %s" % (page, scene, done.stderr))
        known.add(scene)


# ---- The first mechanism -------------------------------------------------------------------------

def check_first_mechanism(folder):
    text = read("README.md")
    scene = blocks(text, "json")[0]
    with open(os.path.join(folder, "pendulum.json"), "w", encoding="utf-8") as file:
        file.write(scene)
    shown = re.search(r"^\$ \S+tenon check pendulum\.json\n(.*?)^\$", text, re.M | re.S).group(1)
    done = tenon("check", "pendulum.json", folder=folder)
    check(done.stdout == shown, "README.md: tenon check pendulum.json prints\n%s" % done.stdout)
    done = tenon("run", "pendulum.json", "--html", "swing.html", folder=folder)
    check(done.returncode == 0 and os.path.getsize(os.path.join(folder, "swing.html")) > 1000, done.stderr)
    program = build(folder, "first", next(block for block in blocks(text, "c") if "int main(" in block))
    ran = subprocess.run([program], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    found = re.match(r"t = 1 s, joint error (\S+)\n$", ran.stdout)
    check(ran.returncode == 0 and found and float(found.group(1)) < 1e-12, ran.stdout + ran.stderr)


def main():
    failed, scenes, programs, commands, known = 0, 0, 0, 0, set()
    helps = {name: output(TENON, "help", name) for name in COMMANDS if name != "help"}
    helps["help"] = ""
    with tempfile.TemporaryDirectory() as folder:
        for page in PAGES:
            text = read(page)
            try:
                scenes += check_scenes(page, text)
                programs += check_programs(page, text, folder)
            except (AssertionError, ValueError, subprocess.SubprocessError) as reason:
                failed += 1
                print("FAILED %s: %s" % (page, reason))
            for words in commands_of(text):
                commands += 1
                try:
                    check_command(page, words, helps, known)
                except (AssertionError, subprocess.SubprocessError) as reason:
                    failed += 1
                    print("FAILED %s" % reason)
        try:
            check_first_mechanism(folder)
        except (AssertionError, AttributeError, OSError, subprocess.SubprocessError) as reason:
            failed += 1
            print("FAILED the first mechanism: %s" % reason)
    if scenes < 10 or programs < 2 or commands < 80:
        failed += 1
        print("FAILED only %d scenes, %d programs and %d commands were found" % (scenes, programs, commands))
    print("%d scenes, %d programs, %d commands" % (scenes, programs, commands))
    print("%d passed, %d failed" % (scenes + programs + commands + 1 - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
