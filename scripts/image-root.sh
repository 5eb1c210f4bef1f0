#!/usr/bin/env bash
# Makes the root of an image without shell and package manager: a program, its libraries, certificates and its user. dpkg's
# list of the files' packages is for scanners and scripts/sbom.py.
#   scripts/image-root.sh ROOT PROGRAM USER HOME [PACKAGE...]
# PACKAGE: one whose libraries the program opens by name at run time (libpq5).
set -euo pipefail
umask 022
root=$1 program=$2 user=$3 home=$4
shift 4
time=${SOURCE_DATE_EPOCH:-0}

install -D -m 755 "$program" "$root/usr/local/bin/${program##*/}"
opened=$(for package in "$@"; do dpkg -L "$package" | grep -E '\.so\.[0-9]+$'; done)
# "  libssl.so.3 => /lib/x86_64-linux-gnu/libssl.so.3 (0x…)" and "  /lib64/ld-linux-x86-64.so.2 (0x…)"
libraries=$({
    for file in "$program" $opened; do ldd "$file"; done | sed -n 's|^\t\(.* => \)\{0,1\}\(/[^ ]*\) .*|\2|p'
    printf '%s\n' $opened
} | LC_ALL=C sort -u)
packages=(base-files ca-certificates "$@")
for library in $libraries; do
    file=$(readlink -e "$library")
    # At the path the loader looks for, below /usr: /lib and /lib64 are links, as in Debian.
    install -D -m "$(stat -c %a "$file")" "$file" "$root/usr${library#/usr}"
    packages+=("$(dpkg -S "$library" "$file" "/usr$library" "${file#/usr}" 2>/dev/null | head -n 1 | sed 's/[:,].*//' || :)")
done
for folder in lib lib64; do
    [ ! -d "$root/usr/$folder" ] || ln -s "usr/$folder" "$root/$folder"
done

# OpenSSL's default is a folder with one file per certificate.
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
install -d "$root/usr/lib/ssl"
ln -s /etc/ssl/certs/ca-certificates.crt "$root/usr/lib/ssl/cert.pem"

install -m 644 "$(readlink -e /etc/os-release)" "$root/etc/os-release"
printf 'root:x:0:0:root:/root:/sbin/nologin\n%s:x:10001:10001::%s:/sbin/nologin\n' "$user" "$home" >"$root/etc/passwd"
printf 'root:x:0:\n%s:x:10001:\n' "$user" >"$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"
install -d -m 1777 "$root/tmp"
install -d -m 755 "$root/proc" "$root/sys" "$root/dev" "$root/${home%/*}"
install -d -o 10001 -g 10001 -m 700 "$root/$home" "$root/$home/data"

install -d "$root/var/lib/dpkg/info"
for package in $(printf '%s\n' "${packages[@]}" | LC_ALL=C sort -u); do
    dpkg-query --status "$package"
    echo
    copyright=/usr/share/doc/$package/copyright
    [ ! -e "$copyright" ] || install -D -m 644 "$copyright" "$root$copyright"
done >"$root/var/lib/dpkg/status"
find "$root" -exec touch --no-dereference --date "@$time" {} +
