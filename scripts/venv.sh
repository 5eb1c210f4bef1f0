#!/usr/bin/env bash
# Makes a Python environment with the packages that scripts/test-requirements.txt pins, and prints its interpreter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=.build/venv
wanted=$(sha256sum scripts/test-requirements.txt)
if [ "$(cat "$venv/.stamp" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r scripts/test-requirements.txt
    echo "$wanted" >"$venv/.stamp"
fi
echo "$venv/bin/python"
