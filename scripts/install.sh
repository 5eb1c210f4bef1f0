#!/usr/bin/env bash
# Installs what `make build` has built, or removes it again. Configuration and data stay.
#   DESTDIR= PREFIX=/usr/local BUILT=.build/release scripts/install.sh install|uninstall
#   PREFIX=/usr/local scripts/install.sh units FOLDER      writes the systemd units only
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

prefix=${PREFIX:-/usr/local}
built=${BUILT:-.build/release}
root=${DESTDIR:-}$prefix

program=$root/bin/bramley
units=$root/lib/systemd/system
names=(bramley.service bramley.socket bramley-backup.service bramley-backup.timer)
users=$root/lib/sysusers.d/bramley.conf
files=$root/lib/tmpfiles.d/bramley.conf
bash=$root/share/bash-completion/completions/bramley
zsh=$root/share/zsh/site-functions/_bramley
fish=$root/share/fish/vendor_completions.d/bramley.fish

# put MODE FROM TO: replaces the file, so that a running program keeps the old one and a starting one never sees half.
put() {
    install -D -m "$1" "$2" "$3.new"
    mv -f "$3.new" "$3"
}

# write_units FOLDER: with the program's folder, and one sandbox for both services.
write_units() {
    local name
    sed -n '/^# A core dump/,/^AmbientCapabilities/{/AppArmor/d;p}' packaging/systemd/bramley.service >"$1/sandbox"
    for name in "${names[@]}"; do
        sed -e "s|@BINDIR@|$prefix/bin|" -e "/^@SANDBOX@$/{r $1/sandbox
            d}" "packaging/systemd/$name" >"$1/$name"
    done
    rm "$1/sandbox"
}

case ${1:-} in
units)
    write_units "$2"
    ;;
install)
    if [ ! -x "$built/bramley" ]; then
        echo "$built/bramley is not there: run make build first." >&2
        exit 1
    fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    scripts/strip.sh "$built/bramley" "$work/bramley"
    put 755 "$work/bramley" "$program"
    [ ! -x "$root/bin/apple-simulator" ] || names+=(apple-simulator.service)
    write_units "$work"
    for name in "${names[@]}"; do put 644 "$work/$name" "$units/$name"; done
    put 644 packaging/systemd/bramley.sysusers.conf "$users"
    put 644 packaging/systemd/bramley.tmpfiles.conf "$files"
    for shell in bash zsh fish; do
        # It is sourced, not run.
        "$built/bramley" --generate-completion-script $shell | sed '1{/^#!/d}' >"$work/$shell"
        put 644 "$work/$shell" "${!shell}"
    done
    echo "installed $("$built/bramley" --version) below $root"
    if [ -z "${DESTDIR:-}" ] && [ -d /run/systemd/system ]; then
        echo "next: systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload (docs/start/install.md)"
    fi
    ;;
uninstall)
    names+=(apple-simulator.service)
    rm -f "$program" "${names[@]/#/$units/}" "$users" "$files" "$bash" "$zsh" "$fish"
    echo "removed what was installed below $root; configuration and data are still there"
    ;;
*)
    echo "usage: $0 install|uninstall|units FOLDER" >&2
    exit 2
    ;;
esac
