"""tenon-bench asks the library for what no setting says: regularisation by the norm of the matrix, as in figure 3.

TENON in the environment names the program; an argument filters the tests by name.
"""
import sys

from bench_test import suite
from tests import TESTS, main, test

TESTS.clear()  # of bench_test


@test
def ways_that_only_benchmarks_ask_for_differ():
    result = suite("impulse", "figure3", "--csv", "f.csv")
    assert result.code == 0, result.err
    count = {}
    for line in open("f.csv").read().splitlines():
        _, name, _, quantity, mean, _ = line.split(",")
        if quantity == "iterations":
            count[name] = float(mean)
    # Regularised by the norm of the matrix, a large regularisation costs rounds; by the size of each row it does not.
    assert count["spd_norm_1e-10"] > 6 and count["kkt_1e-10"] < 3, count


if __name__ == "__main__":
    sys.exit(main())
