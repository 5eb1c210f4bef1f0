#!/usr/bin/env bash
# Everything `make test` does: packages, one debug build, the Swift tests, the tests in Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/packages.sh test

echo "== building (debug) =="
swift build --build-tests
# The browser tests start the programs from here.
TEST_BIN=$(swift build --show-bin-path)
export TEST_BIN

echo "== Swift tests =="
swift_log=.build/swift-tests.log
if ! swift test --skip-build 2>&1 | tee "$swift_log"; then
    echo "== what failed (the whole of it is in $swift_log) =="
    grep -a '✘' "$swift_log"
    exit 1
fi

echo "== tests in Python: commands, API, webhooks, apps, a second Apple, chaos, browser, proxies, examples =="
python=$(scripts/venv.sh)
for folder in Tests/Commands Tests/API Tests/Webhooks Tests/Native Tests/Apple Tests/Chaos Tests/Browser Tests/Proxies Tests/Examples; do
    "$python" -B -m pytest "$folder" -q -p no:cacheprovider
done
