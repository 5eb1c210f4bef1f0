#!/usr/bin/env bash
# Copies a program without its symbols, and without what differs between two builds of the same sources: Swift's hash of
# each module's compilation, which contains the folder, and the linker's hash of it all.
#   scripts/strip.sh FROM TO
set -euo pipefail
strip --remove-section=.swift_modhash --remove-section=.note.gnu.build-id -o "$2" "$1"
