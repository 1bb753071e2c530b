"""What the code says of the pages, and the pages of the code and of each other, is there: paths, sections, links.

Checked are pages that comments name, sections of docs/theory that they name by number, files that pages name in
backticks (`src/joint/rows.c`, or `rows.c` where the folder was said before), and links from page to page.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = ("src", "include", "cli", "stage", "scenes", "bench", "tests", "examples", "web/src", "web/test", "scripts")
ENDINGS = (".c", ".h", ".py", ".ts", ".mjs", ".sh", ".txt", ".json", ".html", ".css", ".cpp", ".hpp")
GENERATED = {"app.c"}  # programs that a reader writes


def files(folder):
    for path, folders, names in os.walk(os.path.join(ROOT, folder)):
        folders[:] = [f for f in folders if f not in ("node_modules", "results", "build")]
        for name in names:
            yield os.path.relpath(os.path.join(path, name), ROOT)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def exists(path):
    return os.path.exists(os.path.join(ROOT, path))


def sections(page):
    return set(re.findall(r"^## (\d+)\.", read(page), re.M))


def check_code(path, text):
    """Pages that a source file names, and their sections."""
    for page, number in re.findall(r"((?:[\w-]+/)*[\w-]+\.md)\b(?:,? (?:section )?(\d+)\b)?", text):
        beside = os.path.join("docs" if path.startswith("tests") else os.path.dirname(path), page)
        if not exists(page) and not exists(beside):
            yield "%s names %s, which is not there" % (path, page)
        elif page.startswith("docs/theory/") and number and number not in sections(page):
            yield "%s names section %s of %s, which has %s" % (path, number, page, sorted(sections(page)))


def check_page(path, text, names):
    """Links of a page and the files that it names."""
    folder = os.path.dirname(path)
    bare = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", bare):
        if "://" not in link and not exists(os.path.join(folder, link)):
            yield "%s links to %s, which is not there" % (path, link)
    for named in re.findall(r"`([\w./-]+\.(?:c|h|cpp|py|ts|mjs|sh))`", bare):
        if "/" in named and not exists(named) and not exists(os.path.join(folder, named)) and \
                not exists(os.path.join("include", named)):
            yield "%s names %s, which is not there" % (path, named)
        if "/" not in named and named[0] != "_" and named not in names:
            yield "%s names %s, and no file has this name" % (path, named)
    for named in re.findall(r"`((?:src|cli|stage|web|tests|scenes|bench|docs|scripts)/[\w./-]*)`", bare):
        if not exists(named):
            yield "%s names %s, which is not there" % (path, named)


def main():
    wrong, names, seen = [], set(GENERATED), 0
    for folder in CODE + ("docs",):
        names.update(os.path.basename(path) for path in files(folder))
    for folder in CODE:
        for path in files(folder):
            if path.endswith(ENDINGS) and os.path.basename(path) != os.path.basename(__file__):
                seen += 1
                wrong += check_code(path, read(path))
    pages = [p for p in files("docs") if p.endswith(".md")] + ["README.md", "CONTRIBUTING.md", "CHANGELOG.md",
                                                                "bench/README.md"]
    for path in pages:
        wrong += check_page(path, read(path), names)
    for line in sorted(set(wrong)):
        print("FAILED " + line)
    if seen < 300 or len(pages) < 20:
        print("FAILED only %d files and %d pages were found" % (seen, len(pages)))
        return 1
    print("%d passed, %d failed" % (len(pages) + seen - len(set(wrong)), len(set(wrong))))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
