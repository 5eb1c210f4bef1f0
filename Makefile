# Bramley. `make` lists all targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run example test test-long test-all install uninstall bench format lint build clean kill-test deb test-deb chaos chaos-cluster docs fuzz fuzz-check test-asan test-tsan tls-scan faults hostile soak soak-operations test-operations dist image release test-image test-postgres withdrawals

SOURCES := Package.swift Public Sources Tests

help: ## list these targets
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: ## build, then start Bramley with a simulated Apple on this machine
	@scripts/demo.sh

example: ## start one of docs/examples with a simulated Apple: NAME=accounts, agent, cluster, flask, nginx-static, node, openid or spa
	@scripts/example.sh "$(NAME)"

test: ## build once (debug) and run all tests except the long ones, in a real browser too
	@scripts/test.sh

test-long: ## run the long Python tests: every proxy with every case, every language, chaos
	@scripts/test.sh long

SECONDS ?= 600
test-all: ## run make test, then each of the long targets below; takes hours
	@scripts/packages.sh test
	$(MAKE) test
	$(MAKE) test-long
	for target in kill-test test-postgres test-operations faults test-deb test-image fuzz-check test-asan test-tsan tls-scan hostile chaos chaos-cluster withdrawals soak soak-operations fuzz; do \
	    echo "== make $$target =="; python3 -B Tests/Support/leftovers.py $(MAKE) "$$target" SECONDS=$(SECONDS) || exit 1; done

build: export SOURCE_COMMIT := $(shell scripts/commit.sh)
build: ## build the two programs for deployment (release)
	@scripts/packages.sh build
	swift build -c release --static-swift-stdlib --product bramley
	swift build -c release --static-swift-stdlib --product apple-simulator
	@echo "built $$(swift build -c release --static-swift-stdlib --show-bin-path)/bramley and apple-simulator"

install: ## install what make build has built below PREFIX=/usr/local (and DESTDIR=): program, systemd units, completions
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" BUILT="$(BUILT)" scripts/install.sh install

uninstall: ## remove the installed files; configuration and data stay
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" scripts/install.sh uninstall

dist: build ## build, and pack an archive of each program for other machines, with sums, below .build/dist
	@scripts/dist.sh

deb: build ## build, and pack a Debian package of each program below .build/dist (docs/start/install.md)
	@scripts/packages.sh build dpkg-dev
	@scripts/deb.sh

release: dist deb image ## build everything, and collect it in .build/publish with an apt repository, sums and signatures: SIGNING_KEY=ID
	@scripts/packages.sh build dpkg-dev gnupg
	@scripts/release.sh

bench: ## measure beside nginx and Hummingbird, and print a table; BENCH_ONLY=verify,idle measures parts
	@scripts/packages.sh bench
	Benchmarks/run.sh

kill-test: ## kill -9 the server 200 times under load and look for lost sign-ins
	KILL_TEST_ROUNDS=200 swift test --filter KillTests

chaos: ## run people, a failing Apple, operators and kills for SECONDS=600, then compare with Apple (docs/contribute/testing.md)
	@scripts/packages.sh test
	swift build --product bramley
	swift build --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Load/Chaos/chaos.py "$$(swift build --show-bin-path)" $(SECONDS) $(PEOPLE)

ROUNDS ?= 100
STORED ?= 200000
chaos-cluster: ## run ROUNDS=100 of failures over three servers, a primary and its standby, with STORED=200000 people (docs/contribute/testing.md)
	@scripts/packages.sh test
	swift build --product bramley
	swift build --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Load/Chaos/cluster.py "$$(swift build --show-bin-path)" $(ROUNDS) $(STORED)

WITHDRAWALS ?= 10000
withdrawals: ## withdraw consent WITHDRAWALS=10000 times over three servers; a second later, nothing may work
	@scripts/packages.sh test
	swift build --product bramley
	swift build --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Load/Chaos/withdrawals.py "$$(swift build --show-bin-path)" $(WITHDRAWALS)

fuzz: ## fuzz every reader of untrusted bytes with libFuzzer, SECONDS=600 in all; TARGETS="request json" selects (docs/contribute/testing.md)
	@scripts/packages.sh build
	python3 -B Tests/Load/Fuzzing/fuzz.py run $(SECONDS) $(TARGETS)

fuzz-check: ## check that the fuzzer finds the bug planted in each target
	@scripts/packages.sh build
	python3 -B Tests/Load/Fuzzing/fuzz.py check $(TARGETS)

test-asan: ## run the Swift tests under the address sanitizer
	@scripts/sanitize.sh address

test-tsan: ## run the Swift tests under the thread sanitizer
	@scripts/sanitize.sh thread

tls-scan: ## scan a Bramley that has a certificate with testssl.sh; it fails on findings that Tests/System/TLS/scan.py does not answer
	@scripts/packages.sh test testssl.sh
	swift build --product bramley
	swift build --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/System/TLS/scan.py "$$(swift build --show-bin-path)"

format: ## format the sources
	swift format --in-place --parallel --recursive $(SOURCES)

lint: ## check the format of the sources
	swift format lint --strict --parallel --recursive $(SOURCES)

docs: ## write the pages that are printed from tables (keys, reason codes, findings, log lines, metrics); list stale translations
	swift build --product bramley
	"$$(swift build --show-bin-path)/bramley" check --reference > .build/configuration.md
	"$$(swift build --show-bin-path)/bramley" check --schema > .build/config.schema.json
	for page in failures doctor log-lines metrics; do \
	    "$$(swift build --show-bin-path)/bramley" explain --reference $$page > .build/$$page.md; done
	mv .build/config.schema.json docs/
	mv .build/{configuration,failures,doctor,log-lines,metrics}.md docs/reference/
	-@scripts/translations.py

test-postgres: ## run the tests of the store, and those from outside, on PostgreSQL
	@scripts/packages.sh test
	swift build --build-tests
	TEST_STORE=postgres SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8 TEST_PATIENCE=4 \
	    swift test --skip-build --filter 'StorageTests|EndToEndTests'
	for suite in API Linking Native Webhooks Browser; do \
	    TEST_STORE=postgres TEST_BIN="$$(swift build --show-bin-path)" "$$(scripts/venv.sh)" -B -m pytest -q \
	        -p no:cacheprovider "Tests/System/$$suite" || exit 1; done

faults: ## run the Swift tests while the kernel interrupts, shortens and refuses socket calls
	@scripts/packages.sh test
	swift build --build-tests
	Tests/Load/Faults/run.sh "$$(swift build --show-bin-path)"

hostile: ## run slowhttptest with 1,000 connections; the server must keep answering (docs/operate/limits.md#hostile-clients)
	@scripts/packages.sh test slowhttptest
	swift build -c release --product bramley
	swift build -c release --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Load/Hostile/slow_clients.py "$$(swift build -c release --show-bin-path)"

soak: ## mix honest and hostile traffic for SECONDS=600, then compare memory and descriptors
	@scripts/packages.sh test
	swift build -c release --product bramley
	swift build -c release --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Load/Hostile/soak.py "$$(swift build -c release --show-bin-path)" $(SECONDS)

soak-operations: ## run half of the maximum load for SECONDS=600, with operations and notifications (docs/contribute/testing.md)
	@scripts/packages.sh test
	swift build -c release --product bramley
	swift build -c release --product apple-simulator
	"$$(scripts/venv.sh)" -B Tests/Load/Hostile/operations_soak.py "$$(swift build -c release --show-bin-path)" $(SECONDS)

test-operations: ## simulate a year of traffic, and kill a backup and a restore 60 times each
	RETENTION_SCALE=20 BACKUP_KILL_ROUNDS=60 swift test --filter 'RetentionYearTests|BackupKillTests'

image: ## build the images bramley and apple-simulator with buildah, without a daemon or a registry (docs/start/install.md)
	@scripts/image.sh

test-deb: deb ## build the Debian packages, and install, upgrade, downgrade and purge them in a folder and a virtual machine; as root
	@scripts/packages.sh test debootstrap lintian apparmor strace qemu-system-x86 gnupg
	"$$(scripts/venv.sh)" -B -m pytest -q -p no:cacheprovider Tests/Packaging/Packages

test-image: image ## build both images twice, compare them, and run them with Docker and Compose; as root
	@scripts/packages.sh test buildah debootstrap docker.io docker-compose busybox-static
	@rm -rf .build-image/again
	@TAG=again COMPILED=$(CURDIR)/.build-image/again scripts/image.sh
	@rm -rf .build-image/again
	"$$(scripts/venv.sh)" -B -m pytest Tests/Packaging/Image -q -p no:cacheprovider

clean: ## remove what was built, and the demonstration's data
	rm -rf .build .build-*
