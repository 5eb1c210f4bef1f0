#!/usr/bin/env bash
# Builds the images of the Dockerfile, bramley and apple-simulator, with buildah: no daemon, no registry.
#   scripts/image.sh
# Each is also an archive, .build-image/NAME-TAG.oci.tar, for `docker load` or a registry (skopeo copy oci-archive:...).
# They are in a separate store below .build-image; `scripts/image.sh buildah ...` runs buildah on it.
# BASE=debootstrap (the default) makes the base image from Debian's packages and the installed Swift; BASE=public downloads
# it from the public registry. TAG is the images' tag (latest), COMPILED the folder of compiled files for the next build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$PWD/.build-image
export TMPDIR=${COMPILED:-$work/tmp} BUILDAH_ISOLATION=chroot
mkdir -p "$TMPDIR"
buildah() { command buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run" "$@"; }

if [ "${1:-}" = buildah ]; then
    shift
    buildah "$@"
    exit
fi

scripts/packages.sh build buildah debootstrap

swift=docker.io/library/swift:6.3-bookworm
tag=${TAG:-latest}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH

# Leftovers of failed builds take as much room as the images.
clean() { buildah rm --all >/dev/null 2>&1 || :; }
trap clean EXIT
clean

has() { buildah inspect --type image "$1" >/dev/null 2>&1; }

# This machine's package proxies, for the builds only: they are in no image.
volumes=()
apt-config dump | grep -E '^Acquire::[a-z]+::Proxy ' >"$work/apt-proxy" || :
if [ -s "$work/apt-proxy" ]; then volumes+=(--volume "$work/apt-proxy:/etc/apt/apt.conf.d/proxy:ro"); fi

make_swift() {
    echo "== $swift, by debootstrap, with the Swift that is installed here =="
    local container root tools
    container=$(buildah from scratch)
    root=$(buildah mount "$container")
    debootstrap --variant=minbase bookworm "$root" >"$work/debootstrap.log" 2>&1 || {
        tail -20 "$work/debootstrap.log" >&2
        exit 1
    }
    local run=(buildah run --env DEBIAN_FRONTEND=noninteractive "${volumes[@]}" "$container" --)
    "${run[@]}" apt-get -qq update
    "${run[@]}" apt-get -qq install -y --no-install-recommends binutils ca-certificates gcc git libc6-dev \
        libcurl4-openssl-dev libedit2 libgcc-12-dev libncurses6 libpython3-dev libstdc++-12-dev libxml2-dev libz3-dev \
        pkg-config tzdata zlib1g-dev >"$work/swift-packages.log"
    tools=$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")
    # Without the debugger and the editors' tools.
    tar -C "$tools" --exclude='*lldb*' --exclude=bin/clangd --exclude='*sourcekit*' --exclude=share/doc -cf - . |
        tar -C "$root/usr" --no-same-owner --keep-directory-symlink -xf -
    copy_packages "$root"
    buildah umount "$container" >/dev/null
    buildah commit -q --rm "$container" "$swift" >/dev/null
}

# This machine's mirrors of Swift packages, for the build stage.
copy_packages() {
    local key value folder
    { git config --system --get-regexp '^url\..*\.insteadof$' 2>/dev/null || :; } | while read -r key value; do
        folder=${key#url.}
        folder=${folder%.insteadof}
        git config --file "$1/etc/gitconfig" --add "$key" "$value"
        [ -d "$folder" ] && [ ! -e "$1$folder" ] || continue
        mkdir -p "$1$folder"
        tar -C "$folder" -cf - . | tar -C "$1$folder" --no-same-owner -xf -
    done
}

# Lists the content as SPDX: .build-image/NAME.spdx.json
describe() {
    local container root version
    [ -e Package.resolved ] && [ -d .build/checkouts ] || swift package resolve >/dev/null
    container=$(buildah from --pull-never "localhost/$1:$tag")
    root=$(buildah mount "$container")
    version=$(sed -n 's/.*static let version = "\(.*\)"/\1/p' Sources/Sockets/Process/Build.swift)
    scripts/sbom.py "$1" "$version" "$root" >"$work/$1.spdx.json"
    buildah umount "$container" >/dev/null
    buildah rm "$container" >/dev/null
}

# Writes the archive, .build-image/NAME-TAG.oci.tar, without what differs between two builds.
pack() { # NAME
    local id
    rm -rf "$work/unpacked"
    buildah push -q "localhost/$1:$tag" "dir:$work/unpacked"
    scripts/oci.py "$work/unpacked" "$1:$tag" "$work/$1-$tag.oci.tar"
    id=$(buildah pull -q "dir:$work/unpacked")
    buildah tag "$id" "localhost/$1:$tag"
    rm -rf "$work/unpacked"
}

pull=--pull
if [ "${BASE:-debootstrap}" = debootstrap ]; then
    pull=--pull-never
    has "$swift" || make_swift
fi

# In Docker's format, because OCI's has no health check. With the commit's time everywhere, two builds of one commit have
# the same digest.
for image in apple-simulator bramley; do
    echo "== $image =="
    buildah bud --format docker --layers=false $pull --target "$image" "${volumes[@]}" \
        --build-arg SOURCE_COMMIT="$(scripts/commit.sh)" --build-arg SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" \
        --timestamp "$SOURCE_DATE_EPOCH" --identity-label=false --tag "localhost/$image:$tag" \
        --file Dockerfile . >"$work/$image.log" 2>&1 || {
        tail -40 "$work/$image.log" >&2
        exit 1
    }
    pack "$image"
    buildah rmi --prune >/dev/null 2>&1 || :
    buildah images --format '{{.Name}}:{{.Tag}}  {{.Size}}' "localhost/$image:$tag"
    describe "$image"
done
