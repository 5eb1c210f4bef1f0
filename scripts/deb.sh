#!/usr/bin/env bash
# Makes the Debian packages bramley and apple-simulator from what `make build` has built, for this machine's release.
#   BUILT=.build/release DIST=.build/dist scripts/deb.sh
#
# The same programs and commit give the same bytes, as in scripts/dist.sh. A commit without a tag v… gets a version below
# the next release: 0.1.0~git20261127024501.36b4778. DEBFULLNAME and DEBEMAIL name the maintainer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
umask 022

built=${BUILT:-.build/release}
dist=${DIST:-.build/dist}
maintainer="${DEBFULLNAME:-Bramley} <${DEBEMAIL:-noreply@example.org}>"

for program in bramley apple-simulator; do
    if [ ! -x "$built/$program" ]; then
        echo "$built/$program is not there: run make build first." >&2
        exit 1
    fi
done
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH=$time
# "bramley 1.2.3 (commit ..., Swift ...)"
version=$("$built/bramley" --version | cut -d ' ' -f 2)
commit=$("$built/bramley" --version | sed -n 's/.*(commit \([0-9a-f]\{7\}\).*/\1/p')
if ! git describe --exact-match --match "v$version" HEAD >/dev/null 2>&1; then
    version+="~git$(date -u -d "@$time" +%Y%m%d%H%M%S)${commit:+.$commit}"
fi
version=${DEB_VERSION:-$version}
architecture=$(dpkg --print-architecture)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pack PACKAGE: packs the tree of that name below $work, with its documents and control files.
pack() {
    local package=$1 root=$work/$1 documents=$work/$1/usr/share/doc/$1 file libraries
    # The packages of the linked libraries.
    mkdir -p "$work/debian"
    printf 'Source: bramley\n\nPackage: %s\nArchitecture: any\n' "$package" >"$work/debian/control"
    libraries=$(cd "$work" && dpkg-shlibdeps -O -e"$root/usr/bin/$package" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
    install -D -m 644 packaging/debian/copyright "$documents/copyright"
    # Names without versions: "libc6 (>= 2.35), libssl3 (>= 3.0.0)".
    # shellcheck disable=SC2046
    scripts/sbom.py "$package" "$version" / $(sed 's/ ([^)]*)//g; s/,/ /g' <<<"$libraries") >"$documents/$package.spdx.json"
    printf '%s (%s) unstable; urgency=medium\n\n  * CHANGELOG.md of the sources says what is new.\n\n -- %s  %s\n' \
        "$package" "$version" "$maintainer" "$(date -u -R -d "@$time")" | gzip -9n >"$documents/changelog.gz"
    mkdir -p "$root/usr/share/man/man1"
    scripts/manual.py "$root/usr/bin/$package" "$root/usr/share/man/man1"
    gzip -9n "$root"/usr/share/man/man1/*.1
    if [ -e "packaging/debian/$package.lintian-overrides" ]; then
        install -D -m 644 "packaging/debian/$package.lintian-overrides" "$root/usr/share/lintian/overrides/$package"
    fi

    mkdir -p "$root/DEBIAN"
    for file in postinst prerm postrm; do
        [ ! -e "packaging/debian/$package.$file" ] || install -m 755 "packaging/debian/$package.$file" "$root/DEBIAN/$file"
    done
    [ ! -e "packaging/debian/$package.templates" ] ||
        install -m 644 "packaging/debian/$package.templates" "$root/DEBIAN/templates"
    [ ! -d "$root/etc" ] || (cd "$root" && find etc -type f -printf '/%p\n' | LC_ALL=C sort >DEBIAN/conffiles)
    (cd "$root" && find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' md5sum >DEBIAN/md5sums)
    # Ubuntu 24.04 and Debian 13 have the same library by another name.
    libraries=$(sed 's/libssl3 \(([^)]*)\)/& | libssl3t64 \1/' <<<"$libraries")
    sed -e "s#@VERSION@#$version#; s#@ARCHITECTURE@#$architecture#; s#@MAINTAINER@#$maintainer#" \
        -e "s#@LIBRARIES@#$libraries#; s#@SIZE@#$(du -ks --exclude=DEBIAN "$root" | cut -f 1)#" \
        "packaging/debian/$package.control" >"$root/DEBIAN/control"
    # Modes come from this script's umask and from install; the owner is root.
    find "$root" -exec touch --no-dereference --date "@$time" {} +
    # Remove packages of other commits.
    rm -f "$dist/${package}_"*.deb
    dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$root" \
        "$dist/${package}_${version}_$architecture.deb" >/dev/null
    echo "packed $dist/${package}_${version}_$architecture.deb"
}

mkdir -p "$dist"
DESTDIR=$work/bramley PREFIX=/usr BUILT=$built scripts/install.sh install >/dev/null
root=$work/bramley
# A package's completions for zsh have a folder of their own, and Debian 12 looks for units below /lib.
mkdir -p "$root/lib/systemd" "$root/usr/share/zsh/vendor-completions"
mv "$root/usr/lib/systemd/system" "$root/lib/systemd/system"
rmdir "$root/usr/lib/systemd"
mv "$root/usr/share/zsh/site-functions/_bramley" "$root/usr/share/zsh/vendor-completions/"
rmdir "$root/usr/share/zsh/site-functions"
install -D -m 640 packaging/debian/config.json "$root/etc/bramley/config.json"
chmod 750 "$root/etc/bramley"
install -D -m 644 packaging/debian/bramley.apparmor "$root/etc/apparmor.d/bramley"
install -D -m 644 config.example.json "$root/usr/share/doc/bramley/examples/config.json"
find README.md CHANGELOG.md SECURITY.md docs -name __pycache__ -prune -o -type f -print | while read -r file; do
    install -D -m 644 "$file" "$root/usr/share/doc/bramley/$file"
done
pack bramley

install -d "$work/apple-simulator/usr/bin" "$work/apple-simulator/lib/systemd/system"
sed 's|@BINDIR@|/usr/bin|' packaging/systemd/apple-simulator.service >"$work/apple-simulator/lib/systemd/system/apple-simulator.service"
scripts/strip.sh "$built/apple-simulator" "$work/apple-simulator/usr/bin/apple-simulator"
install -D -m 644 docs/reference/simulator.md "$work/apple-simulator/usr/share/doc/apple-simulator/apple-simulator.md"
pack apple-simulator

(cd "$dist" && sha256sum "apple-simulator_${version}_$architecture.deb" "bramley_${version}_$architecture.deb" >SHA256SUMS.debian)
