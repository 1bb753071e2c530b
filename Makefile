# The short way in. Everything here is a line or two; the work is done by CMake and by scripts/.
PREFIX ?= /usr/local

.PHONY: help build demo playground test test-long bench bench-peers install format check-format clean
.DEFAULT_GOAL := help

help:
	@echo 'make build          the library and the program, in build/release'
	@echo 'make demo           build, simulate a robot, write a page that plays it'
	@echo 'make playground     build/playground.html: mechanisms to change and watch, all of it in one page'
	@echo 'make test           the test suite (8 minutes on two cores); PART=laws, PART="unit web": only these'
	@echo 'make test-long      the same with all samples and compilers, and more fuzzing (40 minutes)'
	@echo 'make bench          the benchmark suite, build/bench/tenon-bench (a short test of speed: tenon bench)'
	@echo 'make bench-peers    Tenon beside other engines, scored (docs/benchmark.md)'
	@echo 'make install        into PREFIX ($(PREFIX)), below DESTDIR when given'
	@echo 'make format         format the C files          make check-format   only look'
	@echo 'make clean          remove build/'

build:
	@scripts/setup build
	@scripts/build release

demo: build
	@scripts/demo

playground:
	@scripts/setup playground
	@scripts/playground
	@echo 'open file://$(CURDIR)/build/playground.html in any browser; it needs no network'

test:
	@scripts/setup test
	@scripts/test $(PART)

test-long:
	@scripts/setup test
	@scripts/test --long $(PART)

bench:
	@scripts/setup build
	@scripts/bench

bench-peers:
	@scripts/bench-peers

install: build
	@DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'

format:
	@scripts/format

check-format:
	@scripts/format --check

clean:
	@rm -rf build
