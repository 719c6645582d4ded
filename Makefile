# Two commands are enough: `make demo` and `make test`. Each installs, builds and runs, and skips what is done.
SHELL := /bin/bash
PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
SOURCES = $(shell git ls-files '*.h' '*.cpp')

# The interpreter of `make python`. Debian's torch is for Debian's; docs/python.md says how to build for another one.
PYTHON ?= /usr/bin/python3

.PHONY: demo test build all bench python asan tsan format tidy clean

demo: build
	OMP_WAIT_POLICY=passive $(BUILD)/bin/lact lm demo --output out/demo

test: all
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# The program alone; `all` has the tests, examples and benchmarks too.
build: TARGET = lact_program
all: TARGET = all
build all: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target $(TARGET)
	@ln -sf $(BUILD)/compile_commands.json compile_commands.json

bench: build
	$(BUILD)/bin/lact bench all --record bench/results/latest.json --output bench/results/latest_chunks.svg

# torch.ops.lact and the package lact_torch; `make test` then tests them, too.
python: build/packages
	@[ $(PYTHON) != /usr/bin/python3 ] || $(call install_missing,python3-torch)
	cmake --preset $(PRESET) -DLACT_PYTHON=ON -DPython3_EXECUTABLE=$(PYTHON)
	@cmake --build $(BUILD) -j $(JOBS) --target lact_python
	@echo "export PYTHONPATH=$(CURDIR)/$(BUILD)/python   # then: $(PYTHON) -c 'import lact_torch'"

asan:
	@$(MAKE) --no-print-directory test PRESET=asan

# Only what shares its work among threads: LibTorch itself is not instrumented.
tsan: build/packages
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS)
	setarch -R ctest --preset tsan -j $(JOBS)

format:
	clang-format -i $(SOURCES)

tidy: build
	clang-tidy -p $(BUILD) --quiet $(filter lact/%.cpp,$(SOURCES))

clean:
	rm -rf build out compile_commands.json

$(BUILD)/build.ninja: CMakePresets.json build/packages
	cmake --preset $(PRESET)

# install_missing(packages)
install_missing = missing=$$(for p in $(1); do \
	    dpkg-query -W -f='$${db:Status-Status}' $$p 2>/dev/null | grep -q '^installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	    echo "installing:" $$missing; \
	    $(SUDO) apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi

# The package list is the only place that names what this project needs from Debian.
build/packages: packages.txt
	@mkdir -p build
	@$(call install_missing,$$(cat packages.txt))
	@touch $@
