"""Tests by name: each function that @test marks is one. main() runs them, in a folder of their own, all or those whose name has the
first argument in it, and ends with `N passed, N failed`. A test that returns a text was skipped, and that is why.
"""
import os
import sys
import tempfile

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def place_of(error, function):
    """The last line of the test's own file on the way to the error."""
    where = error.__traceback__.tb_next or error.__traceback__
    while where.tb_next and where.tb_next.tb_frame.f_code.co_filename == function.__code__.co_filename:
        where = where.tb_next
    return where.tb_lineno


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    passed = failed = 0
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for function in TESTS:
            if wanted not in function.__name__:
                continue
            try:
                skipped = function()
                passed += 1
                if skipped:
                    print("skipped %s: %s" % (function.__name__, skipped))
            except Exception as error:  # a broken test must not hide the others
                failed += 1
                print("FAILED %s (line %d): %s: %s" % (function.__name__, place_of(error, function), type(error).__name__, error))
        os.chdir(home)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0
