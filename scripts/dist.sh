#!/usr/bin/env bash
# Packs what `make build` has built for other machines: a tar.gz for each program, and their SHA-256 sums.
#   BUILT=.build/release DIST=.build/dist scripts/dist.sh
#
# The same programs and commit give the same bytes: sorted names, root as owner, and one time for all files,
# SOURCE_DATE_EPOCH or the commit's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

built=${BUILT:-.build/release}
dist=${DIST:-.build/dist}

for program in bramley apple-simulator; do
    if [ ! -x "$built/$program" ]; then
        echo "$built/$program is not there: run make build first." >&2
        exit 1
    fi
done
# "bramley 1.2.3 (commit ..., Swift ...)"
version=$("$built/bramley" --version | cut -d ' ' -f 2)
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
# The programs need its libraries or newer ones.
system=$(. /etc/os-release && echo "${PRETTY_NAME:-Linux}")
target=$version-linux-$(uname -m)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pack PROGRAM: packs the folder of that name, with sums of its files.
pack() {
    local name=$1-$target
    cp LICENSE "$work/$name/"
    sed "s|@SYSTEM@|$system|" "packaging/dist/$1/README.md" >"$work/$name/README.md"
    (
        cd "$work/$name"
        find . -type f -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >../sums
        mv ../sums SHA256SUMS
    )
    # Without the archive's name and the time of compression.
    tar -C "$work" --format=ustar --sort=name --mtime="@$time" --owner=root:0 --group=root:0 --mode='u=rwX,go=rX' \
        -cf - "$name" | gzip -n >"$dist/$name.tar.gz.new"
    mv "$dist/$name.tar.gz.new" "$dist/$name.tar.gz"
}

mkdir -p "$dist"
DESTDIR=$work/image PREFIX=/usr/local BUILT=$built scripts/install.sh install >/dev/null
mv "$work/image/usr/local" "$work/bramley-$target"
cp config.example.json "$work/bramley-$target/"
pack bramley

mkdir -p "$work/apple-simulator-$target/bin"
scripts/strip.sh "$built/apple-simulator" "$work/apple-simulator-$target/bin/apple-simulator"
cp docs/reference/simulator.md "$work/apple-simulator-$target/apple-simulator.md"
cp docs/examples/simulator/app.py "$work/apple-simulator-$target/"
pack apple-simulator

(cd "$dist" && sha256sum "apple-simulator-$target.tar.gz" "bramley-$target.tar.gz" >SHA256SUMS)
for program in bramley apple-simulator; do echo "packed $dist/$program-$target.tar.gz"; done
