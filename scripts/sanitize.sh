#!/usr/bin/env bash
# The Swift tests, those end to end too, in programs built with a sanitizer:
#   scripts/sanitize.sh address|thread [options of `swift test`, such as --filter HTTPTests]
# Reports go to a file for each process, the servers that tests start among them: any report fails the run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
address) scratch=.build-asan ;;
thread) scratch=.build-tsan ;;
*)
    echo "usage: $0 address|thread [options of swift test]" >&2
    exit 2
    ;;
esac
sanitizer=$1
shift

scripts/packages.sh test
reports=$PWD/$scratch/reports
rm -rf "$reports"
mkdir -p "$reports"
suppressions=$PWD/Tests/Sanitizers

# Frames of the runtime itself are named only with a symbolizer.
symbolizer=$(dirname "$(readlink -f "$(command -v swift)")")/llvm-symbolizer
[ -x "$symbolizer" ] || symbolizer=$(command -v llvm-symbolizer || true)

# The exit code of a process with a report is left to the tests, which would call it a wrong exit of `bramley`: the files
# say more.
case $sanitizer in
address)
    export ASAN_OPTIONS="log_path=$reports/asan:detect_leaks=1:detect_stack_use_after_return=0:external_symbolizer_path=$symbolizer"
    export LSAN_OPTIONS="suppressions=$suppressions/lsan.supp:print_suppressions=0"
    ;;
thread)
    export TSAN_OPTIONS="log_path=$reports/tsan:suppressions=$suppressions/tsan.supp:history_size=4:external_symbolizer_path=$symbolizer"
    ;;
esac
# What a sanitizer costs in time; see Tests/Patience.
export BRAMLEY_TEST_PATIENCE=10

echo "== building with the $sanitizer sanitizer, in $scratch =="
swift build --build-tests --disable-xctest --sanitize="$sanitizer" --scratch-path "$scratch"

echo "== Swift tests =="
log=$scratch/swift-tests.log
rc=0
swift test --skip-build --disable-xctest --sanitize="$sanitizer" --scratch-path "$scratch" "$@" 2>&1 | tee "$log" || rc=$?
if [ $rc != 0 ]; then
    echo "== what failed (the whole of it is in $log) =="
    grep -a '✘' "$log" || true
fi
found=("$reports"/*)
if [ -e "${found[0]}" ]; then
    echo "== ${#found[@]} processes with reports; the first, and what all are about =="
    head -120 "${found[0]}"
    grep -ah '^SUMMARY' "${found[@]}" | sort | uniq -c | sort -rn | head -40
    rc=1
fi
exit $rc
