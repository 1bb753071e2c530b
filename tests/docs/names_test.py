"""Twelve questions that a newcomer asks, answered by file names alone.

A newcomer lists the files of src and cli and searches the names for a word of the field, then for another one. The first
word that any name has must lead to the place: to at most two files (a header and its source are one), of which one has
what was asked for.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# question: words in the order in which they are tried, what the file must have
QUESTIONS = {
    "the hinge": (["hinge", "joint_type"], r"TN_JOINT_HINGE\]\s*= \{\"hinge\", 5"),
    "the LDL^T": (["ldl"], r"tni_ldl_factor\("),
    "friction": (["friction"], r"\|f_t\| <= mu f_n"),
    "gravity": (["gravity"], r"model->gravity"),
    "GJK": (["gjk"], r"tni_core_distance\("),
    "the articulated-body algorithm": (["articulated_body", "aba"], r"articulated-body algorithm"),
    "sleeping": (["sleep"], r"falls? asleep|sleep_speed"),
    "the scene parser": (["parser"], r"tn_scene_read\("),
    "warm start": (["warm"], r"tni_warm_start_find\("),
    "islands": (["island"], r"tni_islands_\w+\("),
    "the broad phase": (["broad"], r"tni_broad_phase_\w+\("),
    "the command-line flags": (["flag", "option"], r"\"--method\""),
}


def names():
    for folder in ("src", "cli"):
        for path, _, files in os.walk(os.path.join(ROOT, folder)):
            for name in files:
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(path, name), ROOT)


def answer(words, files):
    """The files that the first word with any hit leads to."""
    for word in words:
        hits = [file for file in files if word in os.path.basename(file)]
        if hits:
            return hits
    return []


def has(file, pattern):
    with open(os.path.join(ROOT, file), encoding="utf-8") as text:
        return re.search(pattern, text.read()) is not None


def main():
    files, failed = sorted(names()), 0
    for question, (words, pattern) in QUESTIONS.items():
        hits = answer(words, files)
        places = {os.path.splitext(file)[0] for file in hits}
        if not 1 <= len(places) <= 2 or not any(has(file, pattern) for file in hits if file.endswith(".c")):
            failed += 1
            print("FAILED where is %s? %s leads to %s" % (question, " or ".join(words), hits or "nothing"))
    print("%d passed, %d failed" % (len(QUESTIONS) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
