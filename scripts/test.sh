#!/usr/bin/env bash
# Everything `make test` does: packages, one debug build, the Swift tests, the tests in Python.
# TEST_MINUTES=70: tests in Python that have not begun by then are left out, and the last lines say so. All takes a third
# of that on two usual cores. But a machine of a CI service can be many times slower, and is then stopped from outside,
# which would fail all for what was merely not reached; so there it is the default.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
minutes=${TEST_MINUTES:-${CI:+70}}
[ -z "$minutes" ] || export TEST_END=$(($(date +%s) + minutes * 60))

scripts/packages.sh test

echo "== building (debug) =="
swift build --build-tests
# The browser tests start the programs from here.
TEST_BIN=$(swift build --show-bin-path)
export TEST_BIN

echo "== Swift tests =="
swift_log=.build/swift-tests.log
# All at once, the tests would wait for each other: on a slow machine for longer than a token lives. They give up late,
# which costs nothing as long as what they wait for happens.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8 TEST_PATIENCE=4
if ! swift test --skip-build 2>&1 | tee "$swift_log"; then
    echo "== what failed (the whole of it is in $swift_log) =="
    grep -a '✘' "$swift_log"
    exit 1
fi

echo "== tests in Python: deployment, commands, API, webhooks, apps, linking, a second Apple, chaos, limits, browser, proxies, examples, TLS, documents, http-echo, HTTP/2 =="
python=$(scripts/venv.sh)

# run_line NUMBER FOLDER...: one suite after another. What they printed is shown when all are done.
run_line() {
    local line=$1 folder rc=0
    shift
    for folder in "$@"; do
        echo "-- $folder --"
        "$python" -B -m pytest "Tests/$folder" -q -rsfE -p no:cacheprovider || rc=1
        echo "$folder: done" >&3
    done >".build/python-tests-$line.log" 2>&1
    return $rc
}
exec 3>&1

# Most of them wait for a browser or a server, so that two at once take little more than half the time.
failed=0
run_line 1 Browser Commands Linking Chaos TLS Limits Documents &
first=$!
run_line 2 Deployment API Webhooks Native Apple Proxies Examples Echo HTTP2 || failed=1
wait "$first" || failed=1
cat .build/python-tests-1.log .build/python-tests-2.log
if [ $failed != 0 ]; then
    echo "== what failed =="
    grep -aE '^(-- |FAILED|ERROR)|^[0-9]+ failed|error' .build/python-tests-1.log .build/python-tests-2.log | cut -c1-300 | tail -60
    exit 1
fi
awk -v minutes="$minutes" '
    /^-- / { suite = $2 }
    /^SKIPPED .*the time of the run was over/ {
        split($2, count, /[][]/)
        sum += count[2]
        list = list sprintf("  %s: %d\n", suite, count[2])
    }
    END { if (sum) printf "== NOT RUN: %d tests in Python, for %d minutes were over ==\n%s", sum, minutes, list }
' .build/python-tests-1.log .build/python-tests-2.log
