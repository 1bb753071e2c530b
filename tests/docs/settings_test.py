"""docs/settings.md lists what `tenon help settings` lists: every key, its help, values and default, everyday settings first.

TENON in the environment names the program. With --write the page's tables are written anew.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs/settings.md")
LINE = re.compile(r"^    ([a-z_.]+) +(.*) \(([^()]*); default ([^()]*)\)$", re.M)


def table(part):
    rows = ["| `%s` | %s | %s | %s |" % (key, default, values.replace(" | ", ", "), help)
            for key, help, values, default in LINE.findall(part)]
    return "\n".join(["| key | default | values | |", "|---|---|---|---|"] + rows) + "\n"


def main():
    listed = subprocess.run([os.environ["TENON"], "help", "settings"], capture_output=True, text=True, check=True).stdout
    parts = listed.split("\nVariants of the papers")
    tables = [table(part) for part in parts]
    page = open(PAGE, encoding="utf-8").read()
    if "--write" in sys.argv:
        new = iter(tables)
        page = re.sub(r"\| key \|.*\n(?:\|.*\n)+", lambda _: next(new), page)
        open(PAGE, "w", encoding="utf-8").write(page)
    found = re.findall(r"\| key \|.*\n(?:\|.*\n)+", page)
    keys = len(re.findall(r"^    [a-z_.]+ ", listed, re.M))
    good = [len(parts) == 2, found == tables, sum(t.count("\n") - 2 for t in tables) == keys]
    for old, new in zip(found, tables):
        for line in sorted(set(old.splitlines()) ^ set(new.splitlines())):
            print(("docs/settings.md only: " if line in old else "the program only: ") + line)
    if not all(good):
        print("FAILED: docs/settings.md; make its tables again: TENON=... tests/docs/settings_test.py --write")
    print("%d passed, %d failed" % (sum(good), len(good) - sum(good)))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
