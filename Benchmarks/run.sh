#!/usr/bin/env bash
# `make bench`: Bramley beside its peers in one run, on the same cores, as one table.
#   BENCH_ROUNDS   pairs (default 9)      BENCH_SECONDS   of each run (default 1.5)
#   BENCH_ONLY     parts, by commas       BENCH_PEERS     "nginx" leaves Hummingbird out, which takes minutes to build
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# As it is deployed: Swift's own libraries inside. (Valgrind cannot run the other form: it ends over libdispatch.so.)
build=(swift build -c release --static-swift-stdlib)
"${build[@]}" --product bramley
bin=$("${build[@]}" --show-bin-path)

export BENCH_PROGRAMS=$PWD/.build/benchmarks
mkdir -p "$BENCH_PROGRAMS"
for program in open_loop handshakes idle delay; do
    cc -O2 -Wall -Wextra -std=gnu11 -o "$BENCH_PROGRAMS/$program" "Benchmarks/load/$program.c" -lssl -lcrypto -lpthread
done

if [ -z "${BENCH_HUMMINGBIRD:-}" ] && [ "${BENCH_PEERS:-}" != nginx ]; then
    peer=(swift build -c release --package-path Benchmarks/hummingbird-peer --scratch-path .build/hummingbird-peer)
    if "${peer[@]}"; then
        BENCH_HUMMINGBIRD=$("${peer[@]}" --show-bin-path)/hummingbird-peer
    else
        echo "Hummingbird does not build here: measuring without it" >&2
    fi
fi
export BENCH_HUMMINGBIRD=${BENCH_HUMMINGBIRD:-}

python=python3
if ! $python -c 'import cryptography' 2>/dev/null; then
    [ -x .build/bench-venv/bin/python ] || python3 -m venv .build/bench-venv
    .build/bench-venv/bin/pip install --quiet cryptography
    python=.build/bench-venv/bin/python
fi
ulimit -n 65536 2>/dev/null || ulimit -n "$(ulimit -Hn)"
exec $python -B Benchmarks/bench.py "$bin/bramley" "$@"
