"""`tenon bench`, the short test of speed, and a little of tenon-bench, the benchmark suite that lies beside it.

TENON in the environment names the program; an argument filters the tests by name.
"""
import csv
import os
import re
import subprocess
import sys
import time

from tests import main, test

TENON = os.environ["TENON"]
SUITE = os.path.join(os.path.dirname(TENON), "tenon-bench")


class Result:
    def __init__(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=500)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr


def bench(*args):
    return Result(TENON, "bench", *args)


def suite(*args):
    return Result(SUITE, *args)


def refused(*args, says):
    result = suite(*args)
    assert result.code == 2 and result.out == "", (result.code, result.out)
    assert result.err.startswith("tenon: ") and result.err.count("\n") == 1, result.err
    for word in says:
        assert word in result.err, (word, result.err)


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


# ---- The short test of speed -----------------------------------------------------------------------

NAMES = ["chain", "humanoid", "strandbeest", "heap", "crowd", "batch"]


@test
def one_table_with_a_line_about_the_machine():
    result = bench("--repeat", "1", "--csv", "s.csv")
    assert result.code == 0 and result.err == "", result.err
    lines = result.out.splitlines()
    assert re.fullmatch(r"tenon [0-9.]+ on .+, [0-9]+ processors?", lines[0]), lines[0]
    assert lines[1] == "" and lines[2].split()[-2:] == ["joint", "error"] and len(lines) == 3 + len(NAMES)
    rows = rows_of("s.csv")
    assert [row["name"] for row in rows] == NAMES
    for row, line in zip(rows, lines[3:]):
        assert None not in row and None not in row.values(), row
        assert 0 < float(row["min_us"]) <= float(row["median_us"]), row
        assert float(row["real_time"]) > 0 and 0 <= float(row["joint_error"]) < 1e-8, row
        assert abs(float(row["h"]) - 1 / 60) < 1e-6 and row["method"] in line.split() and row["bodies"] in line.split()
        assert row["machine"].startswith(lines[0].split(" on ")[1].rsplit(",", 1)[0])
    by_name = {row["name"]: row for row in rows}
    assert by_name["chain"]["steps"] == "120" and by_name["chain"]["bodies"] == "1000"
    assert by_name["batch"]["copies"] == "1000" and by_name["heap"]["copies"] == "1"


@test
def a_row_alone_and_rounds():
    result = bench("humanoid", "--repeat", "3", "--csv", "-")
    lines = result.out.splitlines()
    assert result.code == 0 and len(lines) == 2 and lines[1].startswith("humanoid,@humanoid,implicit,17,1,"), result.out
    assert lines[1].split(",")[6] == "360"
    result = bench("humanoid", "--repeat", "1", "--quiet")
    assert result.code == 0 and result.out == "" and result.err == ""
    assert [line.split()[0] for line in bench("--list").out.splitlines()] == NAMES


@test
def times_are_those_of_what_was_simulated():
    for name in ("chain", "batch"):
        begun = time.monotonic()
        bench(name, "--repeat", "5", "--csv", "t.csv")
        whole = time.monotonic() - begun
        row = {key: float(value) for key, value in rows_of("t.csv")[0].items() if re.fullmatch(r"[-+.e0-9]+", value)}
        assert row["steps"] == (600 if name == "chain" else 60), row
        simulated = row["steps"] * row["h"] * row["copies"]
        assert abs(row["real_time"] * row["seconds"] / simulated - 1) < 1e-2, row
        assert row["steps"] * row["copies"] * row["min_us"] * 1e-6 <= row["seconds"] * 1.001 <= whole, (row, whole)


@test
def the_suite_of_old_is_pointed_at():
    result = bench("impulse")
    assert result.code == 2 and "tenon bench --list" in result.err, result.err
    assert "scripts/bench" in Result(TENON, "help", "bench").out


# ---- The suite -------------------------------------------------------------------------------------


@test
def what_there_is_and_help():
    listed = suite("--list").out
    assert re.findall(r"^(\w+)", listed, re.M) == ["baraff", "linear", "scenes", "auxiliary", "impulse", "implicit", "adaptive", "batch", "crowds"]
    assert {"figure3", "load", "large", "figure4", "table1", "threads"} <= set(re.findall(r"^    (\w+)", listed, re.M))
    for option in ("--help", "-h"):
        result = suite(option)
        assert result.code == 0 and listed in result.out and "--repeat N" in result.out


@test
def wrong_words_are_refused():
    refused("linaer", says=["'linaer'", "'linear'"])
    refused("impulse", "figur5", says=["'figur5'", "'figure5'"])
    refused("adaptive", "crwd", says=["'crwd'", "'crowd'"])
    refused("linear", "figure5", says=["'figure5'", "'linear' has no parts"])
    refused("impulse", "load", "more", says=["'more' after 'load'"])
    refused("baraff", "--repeat", "0", says=["--repeat", "'0'"])
    refused("baraff", "--repeat", says=["--repeat"])
    refused("baraff", "--fast", says=["'--fast'"])
    refused("baraff", "--csv", "no/such/place", says=["no/such/place"])


@test
def benchmarks_write_csv():
    result = suite("baraff", "--repeat", "3", "--csv", "b.csv")
    assert result.code == 0 and "factor : solve" in result.out, result.err
    rows = [line.split(",") for line in open("b.csv").read().splitlines()]
    assert rows[0] == ["suite", "scene", "bodies", "quantity", "min", "median"]
    assert {row[1] for row in rows[1:]} == {"planar_web", "tree"} and all(len(row) == 6 for row in rows)
    assert all(float(row[4]) >= 0 for row in rows[1:])
    result = suite("auxiliary", "--repeat", "1", "--csv", "b.csv")
    assert result.code == 0 and "about 17 ms more" in result.out, result.err
    line = re.search(r"^web, 96 \+ 12 auxiliary +(.*)$", result.out, re.M).group(1).split()
    assert all(float(number) > 0 for number in line[:5]), line  # J, tree, columns, k x k, all
    rows = [line.split(",") for line in open("b.csv").read().splitlines()]
    assert all(len(row) == 6 and row[0] == "auxiliary" and float(row[4]) >= 0 for row in rows[1:])
    assert {"web96+12", "tree96+3", "fourbar", "strandbeest", "boxes50"} <= {row[1] for row in rows}
    result = suite("baraff", "--repeat", "1", "--csv", "-")
    assert result.out.startswith("suite,") and "paper" not in result.out


@test
def a_part_is_run_by_itself():
    result = suite("implicit", "characters", "--csv", "f.csv")
    assert result.code == 0 and "newton" in result.out and "figure 4" not in result.out, result.err
    rows = rows_of("f.csv")
    assert {row["scene"] for row in rows} == {"hand", "robot", "humanoid"} and len(rows) == 9
    assert {row["suite"] for row in rows} == {"characters"}


if __name__ == "__main__":
    sys.exit(main())
