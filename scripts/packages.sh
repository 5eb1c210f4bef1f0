#!/usr/bin/env bash
# Installs the missing Debian packages of a task, and says so first.
#   scripts/packages.sh build|test|bench [further packages]
set -euo pipefail

# git: Swift's package manager needs it.
build=(git libssl-dev libsqlite3-dev libnghttp2-dev)
# chromium, with and without windows, and its driver: browser tests. The proxies run in front of an application; Apache
# asks Bramley with lua-socket. nodejs: an example.
# curl, openssl and h2load (nghttp2-client): independent implementations. prometheus: promtool checks metrics and alerts.
# ruby-omniauth-openid-connect: GitLab's OpenID Connect client.
# pebble: an ACME authority; lego and certbot: its clients.
# jq: used in the documents. zsh and fish: load our completions.
# postgresql: the second engine, a cluster per test; pgbouncer: must be refused.
# systemd: systemd-analyze reads our units.
test=("${build[@]}" curl openssl systemd nghttp2-client chromium chromium-headless-shell chromium-driver
    nginx-light caddy haproxy apache2 libapache2-mod-auth-openidc ruby-omniauth-openid-connect ruby-sinatra ruby-webrick lua-socket nodejs postgresql pgbouncer prometheus jq python3-venv zsh fish
    pebble lego certbot)
bench=("${build[@]}" nginx-light glewlwyd sqlite3 wrk nghttp2-client strace valgrind binutils python3-venv postgresql)

# Whether its program is there, whichever package it came from.
is_installed() {
    case $1 in
    git) command -v git >/dev/null ;;
    nginx-light) command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] ;;
    nodejs) command -v node >/dev/null ;;
    docker.io) command -v dockerd >/dev/null ;;
    *) dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed ;;
    esac
}

case ${1:-} in
build) wanted=("${build[@]}") ;;
test) wanted=("${test[@]}") ;;
bench) wanted=("${bench[@]}") ;;
*)
    echo "usage: $0 build|test|bench [further packages]" >&2
    exit 2
    ;;
esac
wanted+=("${@:2}")

if ! command -v swift >/dev/null; then
    echo "Swift 6.3 or later is needed and was not found. Install it from https://www.swift.org/install/linux/ and try again." >&2
    exit 1
fi
# The toolchain may lack libraries on this system.
if ! said=$(swift --version 2>&1); then
    printf '%s\n' "$said" >&2
    echo "Swift is installed, but does not run here. Install the packages that https://www.swift.org/install/linux/ names" \
        "for your system beside the toolchain, and try again." >&2
    exit 1
fi
if [[ $said =~ Swift\ version\ ([0-9]+)\.([0-9]+) ]] &&
    ((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2] < 6003)); then
    echo "Swift 6.3 or later is needed, and this is ${BASH_REMATCH[0]#Swift version }: https://www.swift.org/install/linux/" >&2
    exit 1
fi
if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian or Ubuntu: install the equivalents of ${wanted[*]} yourself if the build misses them." >&2
    exit 0
fi

missing=()
for name in "${wanted[@]}"; do
    is_installed "$name" || missing+=("$name")
done
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "These packages are missing: ${missing[*]}" >&2
        echo "Run as root: apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
    root=(sudo)
fi
apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get)
echo "Installing what is missing:"
echo "  ${root[*]:+${root[*]} }apt-get update && ${root[*]:+${root[*]} }apt-get install --no-install-recommends ${missing[*]}"
# Package lists may be absent or old. If the update fails, they may still be good enough.
"${apt[@]}" update -qq || echo "apt-get update failed; trying with the lists that are there" >&2
# Debian starts servers after installation and at each boot. Only tests start these.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '"${root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
    "${root[@]}" chmod 755 "$policy"
fi
"${apt[@]}" install -y -qq --no-install-recommends "${missing[@]}"
for name in "${missing[@]}"; do
    case $name in
    nginx-light) unit=nginx ;;
    certbot) unit=certbot.timer ;;
    caddy | haproxy | apache2 | postgresql | pgbouncer | prometheus) unit=$name ;;
    *) continue ;;
    esac
    if command -v systemctl >/dev/null; then "${root[@]}" systemctl disable --quiet "$unit" 2>/dev/null || true; fi
done
