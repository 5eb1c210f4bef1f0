#!/usr/bin/env bash
# Collects what `make dist deb image` have made in one folder, with an apt repository, sums and signatures.
#   SIGNING_KEY=ID DIST=.build/dist IMAGES=.build-image RELEASE=.build/publish scripts/release.sh
#
# Without SIGNING_KEY, a key made for this run signs, and says so: for a trial.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
umask 022
dist=${DIST:-.build/dist}
images=${IMAGES:-.build-image}
release=${RELEASE:-.build/publish}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
version=$(sed -n 's/.*static let version = "\(.*\)"/\1/p' Sources/Sockets/Process/Build.swift)

if [ -z "${SIGNING_KEY:-}" ]; then
    GNUPGHOME=$(mktemp -d)
    export GNUPGHOME
    trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT
    SIGNING_KEY="Trial of a release"
    gpg --batch --quiet --passphrase '' --quick-generate-key "$SIGNING_KEY" ed25519 sign never 2>/dev/null
    echo "SIGNING_KEY names no key of gpg's: a key for this run signs. Do not publish what it signs." >&2
fi
export SIGNING_KEY

rm -rf "$release"
mkdir -p "$release"
cp -p "$dist"/*-"$version"-*.tar.gz "$dist"/*.deb "$release/"
for package in "$release"/*.deb; do
    name=$(dpkg-deb -f "$package" Package)
    dpkg-deb --fsys-tarfile "$package" | tar -xO "./usr/share/doc/$name/$name.spdx.json" >"${package%.deb}.spdx.json"
done
for name in bramley apple-simulator; do
    cp -p "$images/$name-latest.oci.tar" "$release/$name-$version.oci.tar"
    cp -p "$images/$name.spdx.json" "$release/$name-$version.oci.spdx.json"
done
cp -p compose.yaml "$release/"
scripts/apt.sh "$release" "$release/apt"
cp -p "$release/apt/bramley.asc" "$release/"
(
    cd "$release"
    sums=$(find . -maxdepth 1 -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum)
    echo "$sums" >SHA256SUMS
    gpg --batch --local-user "$SIGNING_KEY" --armor --detach-sign SHA256SUMS
)
echo "$release: $(find "$release" -maxdepth 1 -type f | wc -l) files, and an apt repository in $release/apt"
