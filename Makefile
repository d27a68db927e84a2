# The short names of what one does here; `make help` lists them. The build itself is CMake's.
# INGOT_JOBS=N limits how much runs at once (default: one a core).

JOBS := $(or $(INGOT_JOBS),$(shell nproc))
PRESET ?= release

.DEFAULT_GOAL := build
.PHONY: setup build demo test test-asan test-tsan fuzz bench format lint help

setup: ## install what is needed (Debian 12 or 13)
	@scripts/setup.sh

# Configures the preset $(1) when that has not been done, and builds it.
define build_preset
@test -f build/$(1)/build.ninja || cmake --preset $(1)
@cmake --build --preset $(1) -j $(JOBS)
endef

# Runs the program $(1), which is made of the files $(2).
run_program = test -x build/$(PRESET)/$(1) || { echo "there is no $(2) to make $(1) of"; exit 1; }; build/$(PRESET)/$(1)

build: setup ## build everything (PRESET=release, debug, asan or tsan)
	$(call build_preset,$(PRESET))

demo: ## compile a vision model and a language model, and run them
	@scripts/setup.sh demo
	@test -f build/release/build.ninja || cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target ingot ingot_golden_models
	@scripts/demo.sh

test: setup ## build and run every test
	$(call build_preset,release)
	@ctest --preset release -j $(JOBS)
	@scripts/spec_coverage.sh
	@scripts/fuzz.sh 15

fuzz: setup ## fuzz every reader of files for ten minutes, and every way to run a program
	$(call build_preset,release)
	@scripts/fuzz.sh 600
	@scripts/fuzz_programs.sh 600

test-asan: setup ## the tests with the address and undefined behaviour sanitizers
	$(call build_preset,asan)
	@ctest --preset asan -j $(JOBS)

test-tsan: setup ## the tests with the thread sanitizer
	$(call build_preset,tsan)
	@ctest --preset tsan -j $(JOBS)

bench: build ## run the micro benchmarks
	@$(call run_program,ingot_bench,bench/*.cpp)

format: ## format the files that differ from the last commit (ALL=1: every file)
	@scripts/setup.sh lint
	@scripts/format.sh $(if $(ALL),all,changed)

# The preset debug has a command for every file: the others compile tests in batches.
lint: ## formatting, and clang-tidy over the files that differ from the last commit (SINCE=main: from that branch; ALL=1: every file)
	@scripts/setup.sh lint
	@test -f build/debug/build.ninja || cmake --preset debug
	@scripts/lint.sh $(if $(ALL),all,$(if $(SINCE),since:$(SINCE),changed)) build/debug

help: ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20
