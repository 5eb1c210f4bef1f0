#!/usr/bin/env bash
# The Swift tests on a kernel that does all the time what it seldom does: faults.c says what.
#   Tests/Load/Faults/run.sh BIN_DIRECTORY [MODE...]     (what SUITES matches, by default everything)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

bin=$(realpath "$1")
shift
modes=("$@")
[ ${#modes[@]} -gt 0 ] || modes=(eintr short eintr,short)
suites=${SUITES:-.}
# As in scripts/test.sh.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8 TEST_PATIENCE=4

library=.build/faults.so
mkdir -p .build
cc -shared -fPIC -O2 -Wall -Wextra -Werror -o "$library" Tests/Load/Faults/faults.c -ldl -lpthread

failed=0
for mode in "${modes[@]}"; do
    log=.build/faults-$mode.log
    report=.build/faults-$mode.txt
    rm -f "$report"
    begun=$SECONDS
    verdict=passed
    if ! LD_PRELOAD=$PWD/$library FAULTS=$mode FAULTS_REPORT=$PWD/$report \
        "$bin/bramleyPackageTests.xctest" --testing-library swift-testing --filter "$suites" >"$log" 2>&1; then
        verdict=FAILED
        failed=1
    fi
    # A run without faults proves nothing.
    count=$(awk '{ sum += $1 } END { print sum + 0 }' "$report" 2>/dev/null || echo 0)
    if [ "$count" -lt 1000 ]; then
        verdict="FAILED (only $count faults)"
        failed=1
    fi
    printf '%-20s %-10s %10s faults  %5s s  %s\n' "$mode" "$verdict" "$count" $((SECONDS - begun)) \
        "$(grep -aoE 'Test run with [0-9]+ tests' "$log" | tail -1)"
    [ "$verdict" = passed ] || grep -aE '✘|Fatal|Crash' "$log" | head -40
done
python=$(scripts/venv.sh)
"$python" -B Tests/Load/Faults/descriptors.py "$bin" "$library" || failed=1
"$python" -B Tests/Load/Faults/resets.py "$bin" "$library" || failed=1
exit $failed
