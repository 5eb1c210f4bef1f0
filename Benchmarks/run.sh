#!/usr/bin/env bash
# `make bench`: Bramley beside its peers in one run, on the same cores, as one table. BENCH_ROUNDS pairs (default 9).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

swift build -c release --product bramley
bin=$(swift build -c release --show-bin-path)
python=python3
if ! $python -c 'import cryptography' 2>/dev/null; then
    [ -x .build/bench-venv/bin/python ] || python3 -m venv .build/bench-venv
    .build/bench-venv/bin/pip install --quiet cryptography
    python=.build/bench-venv/bin/python
fi
ulimit -n 65536 2>/dev/null || ulimit -n "$(ulimit -Hn)"
exec $python Benchmarks/bench.py "$bin/bramley" "$@"
