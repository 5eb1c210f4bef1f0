#!/usr/bin/env bash
# Prints the commit of these sources for `--version`: from SOURCE_COMMIT, git, or the archive that git made of them
# (.gitattributes). Prints nothing if it is unknown.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

archived='$Format:%H$'

if [ -n "${SOURCE_COMMIT:-}" ]; then
    echo "$SOURCE_COMMIT"
elif [ -e .git ] && commit=$(git rev-parse --verify HEAD 2>/dev/null); then
    # Untracked files among the sources are built too.
    if [ -n "$(git status --porcelain -- Package.swift Package.resolved Public Sources 2>/dev/null)" ]; then
        commit+=-modified
    fi
    echo "$commit"
elif [[ $archived =~ ^[0-9a-f]{40,64}$ ]]; then
    echo "$archived"
fi
