"""What is in the images, and what is not."""

import json
import os
import re
import stat
from pathlib import Path

import pytest
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from engine import NAMES, ROOT, buildah
from processes import output

PORTS = {"bramley": "8080/tcp", "apple-simulator": "9700/tcp"}
# MiB on the disk, whole. Some way above what they are, so that a fatter one is noticed.
LARGEST = {"bramley": 60, "apple-simulator": 50}
FOLDERS = ["bin", "sbin", "usr/bin", "usr/sbin", "usr/local/bin", "usr/local/sbin", "opt"]
# What an operator has and no image may.
SECRETS = re.compile(r"\.p8$|sealing\.key$|^config\.json$|^\.git$|^\.gitconfig$|^gitconfig$|^\.netrc$|^id_(rsa|ed25519)$")


def files(root: Path):
    for folder, folders, names in os.walk(root):
        for name in names + folders:
            yield Path(folder) / name


@pytest.mark.parametrize("name", NAMES)
def test_the_image_names_its_user_ports_and_entry_point(engine, name):
    config = json.loads(engine.docker("image", "inspect", "--format", "{{json .Config}}", name))
    # A number: Kubernetes' runAsNonRoot refuses a name, since it could be root's.
    assert config["User"].split(":")[0] == "10001"
    assert list(config["ExposedPorts"]) == [PORTS[name]]
    assert config["Entrypoint"] == [name]
    assert config["Healthcheck"]["Test"], "buildah leaves it out of an image in OCI's format"
    assert {entry.split("=")[0] for entry in config["Env"]} <= {"PATH", "BRAMLEY_SERVER_HOST"}, "nothing of the build"


@pytest.mark.parametrize("name", NAMES)
def test_version_says_the_commit(engine, name):
    commit = output(ROOT / "scripts/commit.sh").strip()
    said = engine.docker("run", "--rm", name, "--version")
    assert re.fullmatch(rf"{name} \d+\.\d+\.\d+ \(commit {commit}, Swift \S+\)", said), said


@pytest.mark.parametrize("name", NAMES)
def test_the_bill_of_materials_names_every_package(images, name):
    bill = ROOT / f".build-image/{name}.spdx.json"
    found = {one["name"]: one["versionInfo"] for one in json.loads(bill.read_text())["packages"]}
    folder = f"--admindir={images[name].root}/var/lib/dpkg"
    installed = output("dpkg-query", folder, "-W", "-f", "${Package} ${Version}\n")
    rows = [line.split(" ") for line in installed.splitlines()]
    assert {"libc6", "libssl3", "ca-certificates"} <= {package for package, _ in rows}
    assert all(found.get(package) == version for package, version in rows)
    assert {pin["identity"] for pin in json.loads((ROOT / "Package.resolved").read_text())["pins"]} <= set(found)
    assert validate_full_spdx_document(parse_file(str(bill))) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_image_has_no_other_program_no_secret_and_nothing_writable(images, name):
    root = images[name].root
    programs = [path for folder in FOLDERS if (root / folder).is_dir() for path in (root / folder).iterdir()]
    assert programs == [root / "usr/local/bin" / name], "no shell, and nothing else that could be run"
    here = [path for path in files(root) if path.relative_to(root).parts[0] not in ("proc", "sys", "dev")]
    assert [path for path in here if SECRETS.search(path.name)] == []
    assert list((root / "etc/ssl/private").iterdir() if (root / "etc/ssl/private").exists() else []) == []
    open_to_all = [
        path for path in here
        if not path.is_symlink() and path.stat().st_mode & stat.S_IWOTH and not path.stat().st_mode & stat.S_ISVTX]
    assert open_to_all == []
    # The program itself is root's: whoever gets into the server cannot replace it.
    program = (root / "usr/local/bin" / name).stat()
    assert (program.st_uid, stat.S_IMODE(program.st_mode)) == (0, 0o755)


@pytest.mark.parametrize("name", NAMES)
def test_every_library_is_present_and_stripped(engine, images, name):
    libraries = engine.docker(
        "run", "--rm", "--entrypoint=/lib64/ld-linux-x86-64.so.2", name, "--list", f"/usr/local/bin/{name}")
    assert "not found" not in libraries, libraries
    assert "swift" not in libraries, "Swift's own libraries are in the program"
    assert b".symtab\0" not in (images[name].root / "usr/local/bin" / name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_authorities_are_where_openssl_looks_for_them(images, name):
    """Without them no answer of Apple's would be believed, and the demonstration, which has no TLS, would not tell."""
    assert output("openssl", "version", "-d") == 'OPENSSLDIR: "/usr/lib/ssl"\n'
    bundle = (images[name].root / "usr/lib/ssl/cert.pem").readlink()
    assert (images[name].root / bundle.relative_to("/")).read_text().count("BEGIN CERTIFICATE") > 100


@pytest.mark.parametrize("name", NAMES)
def test_the_image_is_no_larger_than_documented(images, name):
    assert int(output("du", "-sxm", images[name].root).split()[0]) <= LARGEST[name]


def test_a_second_build_from_nothing_is_the_same_image(images):
    """`make test-image` has built both twice; the second time without what was compiled before."""
    def digest(name: str, tag: str) -> str:
        return buildah("inspect", "--type", "image", "--format", "{{.FromImageDigest}} {{.FromImageID}}",
                       f"localhost/{name}:{tag}")

    for name in NAMES:
        assert "sha256:" in digest(name, "latest") and digest(name, "again") == digest(name, "latest"), name
