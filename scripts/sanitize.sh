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
# Some servers run as somebody without rights.
chmod 1777 "$reports"

# Frames of the runtime itself are named only with a symbolizer.
symbolizer=$(dirname "$(readlink -f "$(command -v swift)")")/llvm-symbolizer
[ -x "$symbolizer" ] || symbolizer=$(command -v llvm-symbolizer || true)

# The exit code of a process with a report is left to the tests, which would call it a wrong exit of `bramley`: the files
# say more.
options=external_symbolizer_path=$symbolizer
sources=(Tests/Sanitizers/options.c)
case $sanitizer in
address)
    options=log_path=$reports/asan:detect_leaks=1:detect_stack_use_after_return=0:print_suppressions=0:$options
    ;;
thread)
    options=log_path=$reports/tsan:history_size=4:$options
    sources+=(Tests/Sanitizers/mutex.c)
    ;;
esac

# Linked into every program, also those that tests start with an environment of their own. Under a name made of what is
# in it: SwiftPM links again when the name is another, not when the file is.
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

# Everything is slower by a factor of about ten; and hundreds of tests at once, so slowed down, wait for each other longer
# than the deadlines of the servers they test.
export TEST_PATIENCE=${TEST_PATIENCE:-10} TEST_SANITIZER=$sanitizer SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
log=$scratch/swift-tests.log
: >"$log"
rc=0
runner=$("${build[@]}" --show-bin-path)/bramleyPackageTests.xctest
run() { "$runner" --testing-library swift-testing "$@" 2>&1 | tee -a "$log" || rc=$?; }
if [ $# -gt 0 ]; then
    run "$@"
else
    # One folder after another: all at once, so slowed down, they wait for each other longer than they are patient.
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
