#!/usr/bin/env bash
# The Swift tests, those end to end too, in programs built with a sanitizer:
#   scripts/sanitize.sh address|thread [options of the tests, such as --filter HTTPTests]
# Reports go to a file for each process, the servers that tests start among them: any report fails the run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
address) scratch=.build-asan ;;
thread) scratch=.build-tsan ;;
*)
    echo "usage: $0 address|thread [options of the tests]" >&2
    exit 2
    ;;
esac
sanitizer=$1
shift

scripts/packages.sh test
reports=$PWD/$scratch/reports
rm -rf "$reports"
mkdir -p "$reports"

# Frames of the runtime itself are named only with a symbolizer.
symbolizer=$(dirname "$(readlink -f "$(command -v swift)")")/llvm-symbolizer
[ -x "$symbolizer" ] || symbolizer=$(command -v llvm-symbolizer || true)

# The exit code of a process with a report is left to the tests, which would call it a wrong exit of `bramley`: the files
# say more.
case $sanitizer in
address)
    export ASAN_OPTIONS="log_path=$reports/asan:detect_leaks=1:detect_stack_use_after_return=0:external_symbolizer_path=$symbolizer"
    ;;
thread)
    export TSAN_OPTIONS="log_path=$reports/tsan:history_size=4:external_symbolizer_path=$symbolizer"
    ;;
esac
echo "== building with the $sanitizer sanitizer, in $scratch =="
swift build --build-tests --sanitize="$sanitizer" --scratch-path "$scratch"

echo "== Swift tests =="
log=$scratch/swift-tests.log
rc=0
preload=
if [ "$sanitizer" = thread ]; then
    preload=$PWD/$scratch/mutex.so
    "$(dirname "$symbolizer")/clang" -O1 -shared -fPIC -o "$preload" Tests/Sanitizers/mutex.c
fi
bin=$(swift build --show-bin-path --sanitize="$sanitizer" --scratch-path "$scratch")
LD_PRELOAD=$preload "$bin/bramleyPackageTests.xctest" --testing-library swift-testing "$@" 2>&1 | tee "$log" || rc=$?
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
