#!/usr/bin/env bash
# Prints the commit these sources are of, for `--version`: as the environment says (SOURCE_COMMIT), or git, or the archive
# that git made of them (.gitattributes). Prints nothing when nobody knows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

archived='$Format:%H$'

if [ -n "${SOURCE_COMMIT:-}" ]; then
    echo "$SOURCE_COMMIT"
elif [ -e .git ] && commit=$(git rev-parse --verify HEAD 2>/dev/null); then
    # Files that git does not know are built as well, as far as they lie among the sources.
    if [ -n "$(git status --porcelain -- Package.swift Package.resolved Public Sources 2>/dev/null)" ]; then
        commit+=-modified
    fi
    echo "$commit"
elif [[ $archived =~ ^[0-9a-f]{40,64}$ ]]; then
    echo "$archived"
fi
