#!/usr/bin/env bash
# Installs the Debian packages that a task needs and that are missing, and says so first.
#   scripts/packages.sh build|test|bench [further packages]
set -euo pipefail

# git: Swift's package manager fetches with it.
build=(git libssl-dev libsqlite3-dev libnghttp2-dev)
# chromium, also without windows, and its driver: the tests in a real browser. The proxies: each runs for real in front of
# an application; lua-socket is what Apache asks Bramley with. nodejs: one of the examples.
# curl, openssl and h2load (of nghttp2-client): other implementations that the server is held against. prometheus: its
# promtool reads metrics and alerts.
# ruby-omniauth-openid-connect: what GitLab signs people in with.
# pebble: an authority that speaks ACME, with lego and certbot as its clients.
# jq: a command of the documents. zsh and fish: each loads the completions made for it.
# postgresql: the second engine, each test's own cluster; pgbouncer: what must not be between.
# systemd: systemd-analyze reads our unit; nothing of it is started.
test=("${build[@]}" curl openssl systemd nghttp2-client chromium chromium-headless-shell chromium-driver
    nginx-light caddy haproxy apache2 libapache2-mod-auth-openidc ruby-omniauth-openid-connect ruby-sinatra ruby-webrick lua-socket nodejs postgresql pgbouncer prometheus jq python3-venv zsh fish
    pebble lego certbot)
bench=("${build[@]}" nginx-light glewlwyd sqlite3 wrk nghttp2-client strace valgrind binutils python3-venv postgresql)

# The package whose files are there, by whatever name it was installed.
is_installed() {
    case $1 in
    git) command -v git >/dev/null ;;
    nginx-light) command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] ;;
    nodejs) command -v node >/dev/null ;;
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
# It may have been unpacked on a system that lacks the libraries it is linked with.
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
# Package lists may be absent or old; an update that fails may still leave good ones.
"${apt[@]}" update -qq || echo "apt-get update failed; trying with the lists that are there" >&2
# Debian starts a server as soon as it is installed, and again at each boot. These are here to be started by tests.
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
