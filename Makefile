# The commands people type. The build itself is CMake's; CMakePresets.json has the other ways to
# build (debug, asan-ubsan, tsan): make test PRESET=asan-ubsan.
PRESET ?= release
JOBS ?= $(shell nproc)

.PHONY: help demo test build configure deps install clean

help:
	@echo "make demo      tune a few shapes: on the GPU here, else on a recorded H200"
	@echo "make test      build everything and run the tests (no GPU needed)"
	@echo "make build     build everything; the program is build/$(PRESET)/gemmsmith"
	@echo "make deps      install what the build needs, by package name"
	@echo "make install   install under PREFIX (default /usr/local)"

deps:
	@scripts/install_deps.sh

configure: deps
	@cmake --preset $(PRESET)

build: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS)

test: build
	@ctest --preset $(PRESET) --parallel $(JOBS)

demo:
	@$(MAKE) --no-print-directory configure PRESET=release
	@cmake --build --preset release --parallel $(JOBS) --target gemmsmith_product
	@scripts/demo.sh

install: build
	@cmake --install build/$(PRESET) $(if $(PREFIX),--prefix $(PREFIX))

clean:
	@rm -rf build
