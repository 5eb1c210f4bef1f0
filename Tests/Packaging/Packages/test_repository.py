"""A release: its signed apt repository, in a fresh root of each system that the documents name, and its sums."""

import functools
import http.server
import os
import re
import threading

import pytest

from debian import RELEASES, ROOT, sign_in, who
from processes import finished, output

# Ubuntu 24.04 as it came out, for machines that cannot get it.
UBUNTU = {
    "ca-certificates": "20240203", "debconf": "1.5.86ubuntu1", "init-system-helpers": "1.66ubuntu1", "libc6": "2.39-0ubuntu8",
    "libgcc-s1": "14-20240412-0ubuntu1", "libnghttp2-14": "1.59.0-1build4", "libsqlite3-0": "3.45.1-1ubuntu2",
    "libssl3t64": "3.0.13-0ubuntu3", "libstdc++6": "14-20240412-0ubuntu1", "systemd": "255.4-1ubuntu8"}


@pytest.fixture(scope="module")
def release(packages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    # Of these, only names and sums matter here.
    for name in ("bramley", "apple-simulator"):
        for suffix in ("-latest.oci.tar", ".spdx.json"):
            (folder / f"{name}{suffix}").write_text(name)
    dist = packages["bramley"].parent
    version = re.search('version = "(.*)"', (ROOT / "Sources/Sockets/Process/Build.swift").read_text())[1]
    (dist / f"bramley-{version}-linux-x86_64.tar.gz").write_text("archive")
    (dist / "bramley-0.0.9-linux-x86_64.tar.gz").write_text("of an earlier release")
    output(ROOT / "scripts/release.sh", timeout=None, env=os.environ | {
        "DIST": str(dist), "IMAGES": str(folder), "RELEASE": str(folder / "publish")})
    return folder / "publish"


@pytest.fixture(scope="module")
def address(own_machine, release):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=release / "apt")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def commands() -> list[str]:
    page = (ROOT / "docs/start/install.md").read_text()
    return re.search(r"^## Package\n.*?^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1].splitlines()


@pytest.mark.parametrize("debian", RELEASES, indirect=True)
def test_the_documented_way_signs_somebody_in(debian, address):
    for line in commands():
        if line == "sudo bramley init":
            # As its questions would be answered, and with a simulated Apple.
            debian.run("apt-get", "install", "apple-simulator")
            debian.configure()
            continue
        if "doctor" in line:
            server = debian.serve_with_apple()
            assert who(sign_in("ada"))
        # In a folder nothing is started by systemd: Debian.serve does, and a machine in test_machine.py.
        debian.run("sh", "-c", line.replace("https://apt.example.org", address).replace(" --now", ""))
    debian.stop(server)


def test_a_repository_that_was_changed_is_refused(debian, address, release):
    for line in commands()[:3]:
        debian.run("sh", "-c", line.replace("https://apt.example.org", address))
    signed = release / "apt/dists/stable/InRelease"
    good = signed.read_text()
    try:
        signed.write_text(good.replace("Origin: Bramley", "Origin: Another"))
        assert "BADSIG" in debian.run("apt-get", "-o", "APT::Update::Error-Mode=any", "update", code=100)
    finally:
        signed.write_text(good)


def test_sums_and_signature_are_right(release, tmp_path):
    output("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=release)
    named = {line.split()[1] for line in (release / "SHA256SUMS").read_text().splitlines()}
    assert named | {"SHA256SUMS", "SHA256SUMS.asc"} == {file.name for file in release.iterdir() if file.is_file()}
    assert not [name for name in named if "0.0.9" in name]
    for ending in (".deb", ".oci.tar", ".tar.gz", ".spdx.json", "bramley.asc", "compose.yaml"):
        assert any(name.endswith(ending) for name in named), ending
    output("gpg", "--batch", "--dearmor", "--output", tmp_path / "key.gpg", "bramley.asc", cwd=release)
    changed = tmp_path / "changed"
    changed.write_text((release / "SHA256SUMS").read_text() + "\n")
    for sums, code in ((release / "SHA256SUMS", 0), (changed, 1)):
        assert finished("gpgv", "--keyring", tmp_path / "key.gpg", release / "SHA256SUMS.asc", sums).returncode == code


@pytest.mark.parametrize("name", ["bramley", "apple-simulator"])
def test_ubuntu_has_what_the_package_needs(packages, tmp_path, name):
    """As apt would decide there."""
    status = tmp_path / "status"
    status.write_text("".join(
        f"Package: {package}\nVersion: {version}\nArchitecture: amd64\nStatus: install ok installed\nMaintainer: nobody\n"
        f"Description: that of Ubuntu\n\n" for package, version in UBUNTU.items()))
    for folder in ("state/lists/partial", "cache/archives/partial", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    options = [f"Dir::State={tmp_path}/state", f"Dir::State::status={status}", f"Dir::Cache={tmp_path}/cache",
               f"Dir::Etc={tmp_path}/etc"]
    done = output("apt-get", *(word for option in options for word in ("-o", option)), "--simulate", "install", packages[name])
    assert re.findall("^Inst (.*?) ", done, re.MULTILINE) == [name], done
