#!/usr/bin/env bash
# Makes a signed apt repository, as static files for any web server, of the Debian packages in a folder.
#   SIGNING_KEY=ID scripts/apt.sh FOLDER REPOSITORY
#
# SIGNING_KEY is a key of gpg's. The same packages give the same lists; SOURCE_DATE_EPOCH is their date.
set -euo pipefail
umask 022
folder=$1 repository=$2
time=${SOURCE_DATE_EPOCH:-$(date +%s)}

mkdir -p "$repository/pool"
cp -p "$folder"/*.deb "$repository/pool/"
gpg --batch --armor --export "$SIGNING_KEY" >"$repository/bramley.asc"
cd "$repository"
architectures=$(for file in pool/*.deb; do dpkg-deb -f "$file" Architecture; done | LC_ALL=C sort -u | tr '\n' ' ')
rm -rf dists
for architecture in $architectures; do
    list=dists/stable/main/binary-$architecture
    mkdir -p "$list"
    dpkg-scanpackages --arch "$architecture" pool >"$list/Packages" 2>/dev/null
    gzip -9nk "$list/Packages"
done
cd dists/stable
{
    printf 'Origin: Bramley\nLabel: Bramley\nSuite: stable\nCodename: stable\nArchitectures: %s\nComponents: main\nDate: %s\n' \
        "${architectures% }" "$(date -u -R -d "@$time")"
    echo SHA256:
    find main -type f | LC_ALL=C sort | while read -r file; do
        printf ' %s %s %s\n' "$(sha256sum "$file" | cut -d ' ' -f 1)" "$(stat -c %s "$file")" "$file"
    done
} >Release
gpg --batch --local-user "$SIGNING_KEY" --clearsign --output InRelease Release
gpg --batch --local-user "$SIGNING_KEY" --armor --detach-sign --output Release.gpg Release
