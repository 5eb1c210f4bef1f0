#!/usr/bin/env python3
"""Prints what a package or an image is made of, as SPDX 2.3: Swift packages by commit, Debian packages by version.

    scripts/sbom.py NAME VERSION ROOT
    scripts/sbom.py NAME VERSION / LIBRARY...

ROOT is an image's: all of its Debian packages are in it. With the names of libraries, those of this machine alone. The time
is SOURCE_DATE_EPOCH's, so that the same sources give the same bytes.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
# By words of its text alone: each of these begins a license that names itself.
LICENSES = [("Runtime Library Exception", "Apache-2.0 WITH Swift-exception"), ("Apache License", "Apache-2.0"),
            ("MIT License", "MIT"), ("Permission is hereby granted, free of charge", "MIT")]


def license_of(folder: Path) -> str:
    for file in sorted(folder.glob("LICENSE*")):
        text = file.read_text(errors="replace")
        return next((name for words, name in LICENSES if words in text), "NOASSERTION")
    return "NOASSERTION"


def package(name: str, version: str, reference: str, location: str = "NOASSERTION", license: str = "NOASSERTION") -> dict:
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
        "downloadLocation": location, "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
        "licenseDeclared": license, "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": reference}]}


def swift_packages() -> list[dict]:
    resolved = HOME / "Package.resolved"
    if not resolved.exists():
        sys.exit("Package.resolved is not there: run make build first.")
    found = []
    for pin in json.loads(resolved.read_text())["pins"]:
        state, address = pin["state"], pin["location"].removesuffix(".git")
        version = state.get("version") or state["revision"]
        found.append(package(
            pin["identity"], version, f"pkg:swift/{address.removeprefix('https://')}@{version}",
            f"git+{address}@{state['revision']}", license_of(HOME / ".build/checkouts" / pin["identity"])))
    return found


def debian_packages(root: Path, names: list[str]) -> list[dict]:
    known = dict(line.split("=", 1) for line in (root / "etc/os-release").read_text().splitlines() if "=" in line)
    release = known["ID"].strip('"') + "-" + known.get("VERSION_ID", "unstable").strip('"')
    asked = ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}", "-W", "-f",
             "${binary:Package}\\t${Version}\\t${Architecture}\\t${db:Status-Status}\\n"]
    rows = subprocess.run(asked + names, check=True, capture_output=True, text=True).stdout
    found = []
    for name, version, architecture, state in sorted(row.split("\t") for row in rows.splitlines()):
        if state == "installed":
            name = name.partition(":")[0]
            found.append(package(
                name, version, f"pkg:deb/{known['ID']}/{name}@{version}?arch={architecture}&distro={release}".replace("+", "%2B")))
    return found


def main() -> None:
    name, version, root, *names = sys.argv[1:]
    created = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    swift = subprocess.run(["swift", "--version"], capture_output=True, text=True)
    toolchain = re.search(r"Swift version (\S+)", swift.stdout + swift.stderr)
    parts = [
        *([package("swift", toolchain[1], f"pkg:generic/swift@{toolchain[1]}", license="Apache-2.0 WITH Swift-exception")]
          if toolchain else []), *swift_packages()]
    libraries = debian_packages(Path(root), names)
    whole = package(name, version, f"pkg:generic/{name}@{version}".replace("+", "%2B"), license="Apache-2.0")
    relation = "DYNAMIC_LINK" if names else "CONTAINS"
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
        "documentNamespace": "https://spdx.org/spdxdocs/" + f"{name}-{version}-"
        + hashlib.sha256(json.dumps([parts, libraries]).encode()).hexdigest(),
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)),
                         "creators": ["Tool: bramley-scripts-sbom.py"]},
        "packages": [whole, *parts, *libraries],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": whole["SPDXID"]},
            *({"spdxElementId": whole["SPDXID"], "relationshipType": "STATIC_LINK", "relatedSpdxElement": one["SPDXID"]}
              for one in parts),
            *({"spdxElementId": whole["SPDXID"], "relationshipType": relation, "relatedSpdxElement": one["SPDXID"]}
              for one in libraries)],
    }, indent=1, sort_keys=True))


main()
