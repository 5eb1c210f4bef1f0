#!/usr/bin/env bash
# Runs the Swift tests, end to end included, with a sanitizer:
#   scripts/sanitize.sh address|thread [options of the tests, such as --filter HTTPTests]
# Each process writes its reports to a file, including servers that tests start. Any report fails the run.
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
# Some servers run as an unprivileged user.
chmod 1777 "$reports"

# Only a symbolizer names the runtime's frames.
symbolizer=$(dirname "$(readlink -f "$(command -v swift)")")/llvm-symbolizer
[ -x "$symbolizer" ] || symbolizer=$(command -v llvm-symbolizer || true)

# A report does not change the exit code, which tests would take for bramley's own: the files say more.
options=external_symbolizer_path=$symbolizer
sources=(Tests/Load/Sanitizers/options.c)
case $sanitizer in
address)
    options=log_path=$reports/asan:detect_leaks=1:detect_stack_use_after_return=0:print_suppressions=0:$options
    ;;
thread)
    options=log_path=$reports/tsan:history_size=4:$options
    sources+=(Tests/Load/Sanitizers/mutex.c)
    ;;
esac

# Linked into every program, because tests start some with their own environment. The name contains a hash: SwiftPM links
# again when the name changes, not when the file does.
link=()
for source in "${sources[@]}"; do
    object=$PWD/$scratch/sanitizer.o
    "$(dirname "$symbolizer")/clang" -O1 -fPIC -DOPTIONS="\"$options\"" -c -o "$object" "$source"
    named=$PWD/$scratch/$(basename "$source" .c)-$(sha256sum "$object" | cut -c1-12).o
    mv "$object" "$named"
    link+=(-Xlinker "$named")
done

echo "== building with the $sanitizer sanitizer, in $scratch =="
build=(swift build --build-tests --sanitize="$sanitizer" --scratch-path "$scratch" "${link[@]}")
"${build[@]}"

# Everything is about ten times slower, and hundreds of simultaneous tests would miss the deadlines of the servers they
# test.
export TEST_PATIENCE=${TEST_PATIENCE:-10} TEST_SANITIZER=$sanitizer SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
log=$scratch/swift-tests.log
: >"$log"
rc=0
runner=$("${build[@]}" --show-bin-path)/bramleyPackageTests.xctest
run() { "$runner" --testing-library swift-testing "$@" 2>&1 | tee -a "$log" || rc=$?; }
if [ $# -gt 0 ]; then
    run "$@"
else
    # One folder after another, for the same reason.
    for folder in $("$runner" --testing-library swift-testing --list-tests | sed 's/\..*//' | sort -u); do
        echo "== Swift tests: $folder =="
        # End to end the code under test is in programs of its own, which tell of their leaks. The tests themselves would
        # be told of what Foundation leaks with every empty file it reads, and of an array that only the tagged pointer of
        # an enumeration holds.
        own=${ASAN_OPTIONS:-}
        [ "$folder" != EndToEndTests ] || own=detect_leaks=0:$own
        ASAN_OPTIONS=$own run --filter "^$folder\\."
    done
    grep -aE 'Test run with' "$log"
fi
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
