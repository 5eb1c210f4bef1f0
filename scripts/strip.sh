#!/usr/bin/env bash
# Copies a program without symbols, and zeroes what differs between two builds of the same sources: Swift's hash of each
# module's compilation, which contains the folder, and the linker's hash of the program. (Removing these sections would
# make strip drop GNU_RELRO.)
#   scripts/strip.sh FROM TO
set -euo pipefail
strip -o "$2" "$1"

# zero SECTION FILE SKIP: zeroes the section after the first SKIP bytes.
zero() {
    local offset size
    read -r offset size < <(readelf -SW "$2" | sed 's/^ *\[ *[0-9]*\]//' | awk -v name="$1" '$1 == name { print $4, $5 }') ||
        return 0
    dd if=/dev/zero of="$2" bs=1 seek=$((16#$offset + $3)) count=$((16#$size - $3)) conv=notrunc status=none
}
zero .swift_modhash "$2" 0
# Keeps the note's header: sizes, type, "GNU".
zero .note.gnu.build-id "$2" 16
