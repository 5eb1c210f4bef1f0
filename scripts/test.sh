#!/usr/bin/env bash
# `make test`: installs packages, makes one debug build, and runs the Swift tests and Python suites, several at once.
# `scripts/test.sh long` is `make test-long`: only the Python tests marked `@pytest.mark.long`.
#
# TEST_WORKERS=3: suites that run at once. Most wait for a browser or a server, so one more than the cores keeps all busy.
# TEST_MINUTES=70: skips Python tests that have not begun by then, and says so at the end. The default with CI set: a run
# takes a fraction of that on two usual cores, but a CI service may be many times slower and stops what takes too long.
#
# Tests/Support/leftovers.py supervises the run: however it ends, it ends and reports every process, port, mount and
# folder that is left, and fails the run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
logs=.build/test-logs
# The longest come first, so that none runs alone at the end.
suites=(Swift Browser API OpenID Commands Linking Deployment Limits Documents PostgreSQL Apple Examples Webhooks Proxies Native TLS Echo Chaos)

# Eight at a time: all at once, tests on a slow machine would wait longer than a token lives. They give up late, which
# costs nothing while they pass.
run_swift() {
    SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8 TEST_PATIENCE=4 swift test --skip-build
}

# run_suite NAME: writes its log, and prints one line with the result, the duration and the processor time.
run_suite() {
    local log="$logs/$1.log" rc=0 begun=$SECONDS
    if [ "$1" = Swift ]; then
        run_swift >"$log" 2>&1 || rc=1
    else
        "$TEST_PYTHON" -B -m pytest Tests/*/"$1" -m "$TEST_MARK" -q -rsfE --durations=25 --durations-min=1 \
            -p no:cacheprovider >"$log" 2>&1 || rc=1
    fi
    [ $rc = 0 ] || touch "$logs/$1.failed"
    # Not in a pipe: a subshell has times of its own.
    times >"$logs/$1.times"
    printf '%-10s %s after %4s s (processors: %s s): %s\n' "$1" "$([ $rc = 0 ] && echo passed || echo FAILED)" \
        "$((SECONDS - begun))" "$(awk -F'[ms ]+' 'NR == 2 { printf "%.0f", $1 * 60 + $2 + $3 * 60 + $4 }' "$logs/$1.times")" \
        "$(grep -aE '^[0-9]+ (passed|failed|errors?|deselected|skipped)|Test run with' "$log" | tail -1 | sed 's/^[^A-Za-z0-9]*//')"
}

which=${1:-all}
case "$which" in
suite) run_suite "$2"; exit ;;
supervised) which=$2 ;;
*)
    scripts/packages.sh test
    exec python3 -B Tests/Support/leftovers.py scripts/test.sh supervised "$which"
    ;;
esac
minutes=${TEST_MINUTES:-${CI:+70}}
[ -z "$minutes" ] || export TEST_END=$(($(date +%s) + minutes * 60))
export TEST_MARK="not long"
if [ "$which" = long ]; then
    TEST_MARK=long
    mapfile -t suites < <(cd Tests && grep -lr --include='test_*.py' --include=conftest.py 'mark\.long' . | cut -d/ -f3 | sort -u)
fi

echo "== building (debug) =="
swift build --build-tests
# The Python suites start the programs from here.
TEST_BIN=$(swift build --show-bin-path)
TEST_PYTHON=$(scripts/venv.sh)
export TEST_BIN TEST_PYTHON

echo "== testing: ${suites[*]} =="
rm -rf "$logs"
mkdir -p "$logs"
printf '%s\n' "${suites[@]}" | xargs -P "${TEST_WORKERS:-3}" -n 1 scripts/test.sh suite

if compgen -G "$logs/*.failed" >/dev/null; then
    for failed in "$logs"/*.failed; do
        log="${failed%.failed}.log"
        echo "== what failed in $(basename "$log" .log) (all of it is in $log) =="
        grep -aE '✘|^(FAILED|ERROR)|^[0-9]+ failed|error|== left behind' -A 3 "$log" | cut -c1-300 | tail -60 || true
    done
    exit 1
fi
awk -v minutes="$minutes" '
    /^SKIPPED .*the time of the run was over/ {
        split($2, count, /[][]/)
        split(FILENAME, name, /[/.]/)
        suite = name[length(name) - 1]
        sum += count[2]
        list = list sprintf("  %s: %d\n", suite, count[2])
    }
    END { if (sum) printf "== NOT RUN: %d tests in Python, for %d minutes were over ==\n%s", sum, minutes, list }
' "$logs"/*.log
