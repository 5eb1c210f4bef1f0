#!/usr/bin/env python3
"""Removes name and id of the build's container, the only difference between two builds, from an image that buildah has
unpacked (dir:), and writes it as an archive in OCI's layout that `docker load` takes, too.

    scripts/oci.py FOLDER NAME:TAG ARCHIVE

buildah's own oci-archive: would lose the health check, which OCI's format does not name but allows.
"""

import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

OCI = "application/vnd.oci.image."


def encoded(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def described(content: bytes, kind: str, **further: object) -> dict:
    return {"mediaType": kind, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)} | further


def main() -> None:
    folder, name, archive = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    manifest = json.loads((folder / "manifest.json").read_text())
    file = folder / manifest["config"]["digest"].removeprefix("sha256:")
    config = json.loads(file.read_text())
    for key in ("container", "container_config"):
        config.pop(key, None)
    config["config"].pop("Hostname", None)
    file.unlink()
    content = encoded(config)
    manifest["config"] |= described(content, manifest["config"]["mediaType"])
    (folder / manifest["config"]["digest"].removeprefix("sha256:")).write_bytes(content)
    (folder / "manifest.json").write_bytes(encoded(manifest))

    layers = [(folder / one["digest"].removeprefix("sha256:")).read_bytes() for one in manifest["layers"]]
    whole = encoded({
        "schemaVersion": 2, "mediaType": OCI + "manifest.v1+json", "config": described(content, OCI + "config.v1+json"),
        "layers": [described(layer, OCI + "layer.v1.tar+gzip") for layer in layers]})
    blobs = {f"blobs/sha256/{hashlib.sha256(one).hexdigest()}": one for one in (content, *layers, whole)}
    config_path, *layer_paths, _ = blobs
    files = blobs | {
        "oci-layout": encoded({"imageLayoutVersion": "1.0.0"}),
        "index.json": encoded({"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": [
            described(whole, OCI + "manifest.v1+json", annotations={"org.opencontainers.image.ref.name": name.split(":")[1]})]}),
        # For engines before Docker 25.
        "manifest.json": encoded([{"Config": config_path, "RepoTags": [name], "Layers": layer_paths}])}
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as tar:
        for path, one in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(one), 0o644
            tar.addfile(entry, io.BytesIO(one))


main()
