# Thin on purpose: Meson builds, scripts/ does the rest.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60

all: build/build.ninja
	@ninja -C build --quiet

run: all
	@scripts/run-demo

test: all
	@scripts/setup test
	@$(MAKE) --no-print-directory build-asan/build.ninja
	@ninja -C build-asan --quiet
	@tests/run build build-asan

coverage: all
	@scripts/setup test
	@$(MAKE) --no-print-directory build-coverage/build.ninja
	@ninja -C build-coverage --quiet
	@tests/run build-coverage || echo "make coverage: some tests failed; the report counts them too" >&2
	@scripts/coverage build-coverage

release: setup
	@scripts/release build-release

# A plain optimised build, in two minutes. `make release install BUILD=build-release` installs the trained one instead.
BUILD ?= build-install
install: setup
	@test -f $(BUILD)/build.ninja || CC=gcc meson setup $(BUILD) --buildtype=release -Dtests=false
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@meson install -C $(BUILD) --quiet
	@echo "installed $(PREFIX)/bin/sallyport; start with: sallyport init" >&2

uninstall:
	@test -f $(BUILD)/build.ninja || { echo "make uninstall: $(BUILD) is gone; it knows what was installed. Run 'make install' with the same PREFIX first." >&2; exit 1; }
	@ninja -C $(BUILD) --quiet uninstall

# Everything that is measured; ends with the table of targets. bench-short is that table alone, in five minutes.
bench bench-short: export SALLYPORT_BIN = $(CURDIR)/build-release/sallyport
bench: release
	@scripts/setup bench
	@bench/pii
	@bench/sandbox
	@bench/discover
	@bench/sessions
	@bench/growth
	@bench/peers
	@bench/run

bench-short: release
	@scripts/setup bench
	@bench/run --short

interop: all
	@scripts/setup test
	@tests/interop/run

torture: all
	@scripts/setup test
	@tests/torture/run build
	@SALLYPORT_SWAPS=100 tests/run -k e2e/handover build

fuzz: all
	@scripts/setup test
	@$(MAKE) --no-print-directory build-fuzz/build.ninja
	@ninja -C build-fuzz --quiet
	@scripts/fuzz build-fuzz $(FUZZ_SECONDS)
	@MEANING_CASES=100000 tests/run -k attacks/meaning build

deb: release
	@scripts/setup deb
	@packaging/deb build-release

static:
	@scripts/setup static
	@packaging/static

# Everything that is published: archives, npm, PyPI, deb, rpm, image. Left in build-packages/.
packages: release
	@scripts/setup packages
	@packaging/all build-release build-packages

# The documentation site. It must load nothing from elsewhere.
docs:
	@scripts/setup docs
	@NO_MKDOCS_2_WARNING=1 build-docs/venv/bin/mkdocs build --quiet
	@! grep -rnoE '<(script|link|img|iframe|source|video|audio|object|embed)[^>]*(src|href|data)="?(https?:)?//[^">]*' build-docs/site --include=*.html
	@! grep -rnoE '(url\(["'"'"']?|@import ["'"'"'])(https?:)?//[^)]*' build-docs/site --include=*.css
	@echo "the site is in build-docs/site; read it with: python3 -m http.server --bind 127.0.0.1 --directory build-docs/site 8000" >&2

# A fresh Debian, the package, an ordinary user, a browser: minutes, and root.
first-five-minutes: all
	@scripts/setup test
	@FIRST_FIVE_MINUTES=1 tests/run -k packages/first-five-minutes build

# What `make packages` built, in fresh roots of these distributions: minutes, and root.
PACKAGE_ROOTS ?= bullseye bookworm trixie jammy noble resolute
package-roots:
	@scripts/setup test
	@scripts/setup packages
	@PACKAGE_ROOTS="$(PACKAGE_ROOTS)" tests/run -k packages/roots build

lint: all
	@scripts/setup lint
	@scripts/lint build

format:
	@find src tests/unit fuzz bench -name build -prune -o -name '*.[ch]' -exec clang-format -i {} +

clean:
	rm -rf build build-asan build-coverage build-docs build-fuzz build-install build-packages build-release build-static

build/build.ninja: | setup
	@test -f $@ || CC=gcc meson setup build

build-asan/build.ninja:
	@CC=clang meson setup build-asan -Db_sanitize=address,undefined -Doptimization=1 -Db_lundef=false

build-coverage/build.ninja:
	@CC=gcc meson setup build-coverage -Db_coverage=true -Doptimization=0

build-fuzz/build.ninja:
	@CC=clang meson setup build-fuzz -Db_sanitize=address,undefined -Doptimization=1 -Db_lundef=false -Dfuzz=true

setup:
	@scripts/setup build

.PHONY: all run test coverage release install uninstall bench bench-short interop torture fuzz deb static packages docs first-five-minutes package-roots lint format clean setup
