# Bramley. `make` alone lists what can be done here.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run example test test-long test-all install uninstall bench format lint build clean kill-test deb test-deb chaos chaos-cluster docs fuzz fuzz-check test-asan test-tsan tls-scan faults hostile soak soak-operations test-operations dist image test-image test-postgres

SOURCES := Package.swift Public Sources Tests

help: ## list these targets
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

run: ## build, then try Bramley out with a simulated Apple, on this machine alone
	@scripts/demo.sh

example: ## start one of docs/examples with a simulated Apple: NAME=accounts, cluster, flask, nginx-static, node, openid or spa
	@scripts/example.sh "$(NAME)"

test: ## build once (debug) and run all tests but the long ones, those in a real browser too
	@scripts/test.sh

test-long: ## the tests in Python that are marked as long: every proxy with every case, every language, chaos
	@scripts/test.sh long

SECONDS ?= 600
test-all: ## make test, and what takes hours: each of the long ones below with its usual length
	@scripts/packages.sh test
	$(MAKE) test
	$(MAKE) test-long
	for target in kill-test test-postgres test-operations faults test-deb test-image fuzz-check test-asan test-tsan tls-scan hostile chaos chaos-cluster soak soak-operations fuzz; do \
	    echo "== make $$target =="; python3 -B Tests/leftovers.py $(MAKE) "$$target" SECONDS=$(SECONDS) || exit 1; done

build: export SOURCE_COMMIT := $(shell scripts/commit.sh)
build: ## build the two programs as they are deployed (release)
	@scripts/packages.sh build
	swift build -c release --static-swift-stdlib --product bramley
	swift build -c release --static-swift-stdlib --product apple-simulator
	@echo "built $$(swift build -c release --static-swift-stdlib --show-bin-path)/bramley and apple-simulator"

install: ## put what make build has built below PREFIX=/usr/local (and DESTDIR=): program, systemd units, completions
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" BUILT="$(BUILT)" scripts/install.sh install

uninstall: ## take that away again; configuration and data stay
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" scripts/install.sh uninstall

dist: build ## make build, then pack the two programs for other machines, with sums, below .build/dist
	@scripts/dist.sh

deb: build ## make build, then pack the two programs as Debian packages below .build/dist (docs/deploying.md)
	@scripts/packages.sh build dpkg-dev
	@scripts/deb.sh

bench: ## measure beside nginx and Hummingbird, and print one table; BENCH_ONLY=verify,idle measures parts
	@scripts/packages.sh bench
	Benchmarks/run.sh

kill-test: ## kill -9 the server 200 times under load and look for lost sign-ins
	KILL_TEST_ROUNDS=200 swift test --filter KillTests

chaos: ## everything at once for SECONDS=600: people, Apple failing, kills; then compare with Apple (docs/chaos.md)
	@scripts/packages.sh test
	swift build --product bramley
	swift build --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Chaos/chaos.py "$$(swift build --show-bin-path)" $(SECONDS) $(PEOPLE)

ROUNDS ?= 100
chaos-cluster: ## ROUNDS=100 of disaster over three servers, a primary and its standby; nothing answered may be untrue
	@scripts/packages.sh test
	swift build --product bramley
	swift build --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Chaos/cluster.py "$$(swift build --show-bin-path)" $(ROUNDS)

fuzz: ## every reader of untrusted bytes under libFuzzer, SECONDS=600 in all; TARGETS="request json" picks (docs/fuzzing.md)
	@scripts/packages.sh build
	python3 -B Tests/Fuzzing/fuzz.py run $(SECONDS) $(TARGETS)

fuzz-check: ## whether the fuzzer finds the bug planted in each of its targets
	@scripts/packages.sh build
	python3 -B Tests/Fuzzing/fuzz.py check $(TARGETS)

test-asan: ## the Swift tests, end to end too, under the address sanitizer
	@scripts/sanitize.sh address

test-tsan: ## the same under the thread sanitizer
	@scripts/sanitize.sh thread

tls-scan: ## let testssl.sh look at a Bramley with a certificate (docs/tls.md answers what it finds)
	@scripts/packages.sh test testssl.sh
	swift build --product bramley
	swift build --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/TLS/scan.py "$$(swift build --show-bin-path)"

format: ## rewrite the sources in the house's layout
	swift format --in-place --parallel --recursive $(SOURCES)

lint: ## report where the sources leave it
	swift format lint --strict --parallel --recursive $(SOURCES)

docs: ## write docs/configuration.md and its schema from the table of keys
	swift build --product bramley
	"$$(swift build --show-bin-path)/bramley" check --reference > .build/configuration.md
	"$$(swift build --show-bin-path)/bramley" check --schema > .build/config.schema.json
	mv .build/configuration.md .build/config.schema.json docs/

test-postgres: ## the tests of the store, and those from outside, on PostgreSQL
	@scripts/packages.sh test
	swift build --build-tests
	TEST_STORE=postgres SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8 TEST_PATIENCE=4 \
	    swift test --skip-build --filter 'StorageTests|EndToEndTests'
	for suite in API Linking Native Webhooks Browser; do \
	    TEST_STORE=postgres TEST_BIN="$$(swift build --show-bin-path)" "$$(scripts/venv.sh)" -B -m pytest -q \
	        -p no:cacheprovider "Tests/$$suite" || exit 1; done

faults: ## the Swift tests while the kernel interrupts, shortens and refuses what is done to sockets
	@scripts/packages.sh test
	swift build --build-tests
	Tests/Faults/run.sh "$$(swift build --show-bin-path)"

hostile: ## slowhttptest, 1,000 connections at a time: the server answers throughout and closes each (docs/hostile-clients.md)
	@scripts/packages.sh test slowhttptest
	swift build -c release --product bramley
	swift build -c release --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Hostile/slow_clients.py "$$(swift build -c release --show-bin-path)"

soak: ## good and hostile traffic for SECONDS=600, then memory and descriptors as before
	@scripts/packages.sh test
	swift build -c release --product bramley
	swift build -c release --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Hostile/soak.py "$$(swift build -c release --show-bin-path)" $(SECONDS)

soak-operations: ## half of what it can carry for SECONDS=600, beside all that operators and Apple do (docs/chaos.md)
	@scripts/packages.sh test
	swift build -c release --product bramley
	swift build -c release --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Hostile/operations_soak.py "$$(swift build -c release --show-bin-path)" $(SECONDS)

test-operations: ## a year of traffic at twenty times the rate, and 60 kills of a backup and of a restore each
	RETENTION_SCALE=20 BACKUP_KILL_ROUNDS=60 swift test --filter 'RetentionYearTests|BackupKillTests'

image: ## build the images bramley and apple-simulator with buildah, without a daemon or a registry (docs/deploying.md)
	@scripts/image.sh

test-deb: deb ## … and install, upgrade, downgrade and purge them in a fresh Debian, as a folder and as a machine; as root
	@scripts/packages.sh test debootstrap lintian apparmor strace qemu-system-x86
	"$$(scripts/venv.sh)" -B -m pytest -q -p no:cacheprovider Tests/Packages

test-image: image ## … and a second time from nothing, which gives the same; then sign in through roots made of them
	@scripts/packages.sh test buildah debootstrap nginx-light
	@rm -rf .build-image/again
	@TAG=again COMPILED=$(CURDIR)/.build-image/again scripts/image.sh
	@rm -rf .build-image/again
	"$$(scripts/venv.sh)" -B -m pytest Tests/Image -q -p no:cacheprovider

clean: ## remove what was built, and the demonstration's data
	rm -rf .build .build-*
