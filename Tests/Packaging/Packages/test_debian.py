"""The Debian packages: what is in them, and their life in a fresh Debian: installed, upgraded, downgraded, purged."""

import filecmp
import gzip
import json
import os
import re
import signal

import pytest
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from conftest import build, git, make_elsewhere
from debian import ADMIN, KEY, ROOT, sign_in, who
from processes import output
from web import call


def content(package) -> dict[str, str]:
    lines = output("dpkg-deb", "-c", package).splitlines()
    return {words[5].removeprefix("."): " ".join(words[:2]) for words in (line.split(maxsplit=5) for line in lines)}


@pytest.mark.parametrize("name", ["bramley", "apple-simulator"])
def test_lintian_finds_nothing(packages, name):
    output("lintian", "--fail-on", "error,warning", packages[name])


def check_same(packages, folder) -> None:
    for name in ("bramley", "apple-simulator"):
        assert filecmp.cmp(packages[name], folder / packages[name].name, shallow=False), name


def test_two_packs_are_the_same_bytes(packages, tmp_path):
    build(tmp_path, TZ="Pacific/Auckland", LC_ALL="C.UTF-8", DEB_BUILD_OPTIONS="parallel=7")
    check_same(packages, tmp_path)


def test_two_builds_are_the_same_bytes(packages, tmp_path):
    """The sources, compiled again in another folder."""
    output("tar", "--null", "--files-from=-", "--ignore-failed-read", "-cf", tmp_path / "sources.tar",
           cwd=ROOT, input=git("ls-files", "-z", "--cached", "--others", "--exclude-standard"))
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    output("tar", "-xf", tmp_path / "sources.tar", "-C", copy)
    said, time = output(ROOT / ".build/release/bramley", "--version"), git("log", "-1", "--format=%ct").strip()
    make_elsewhere(copy, SOURCE_COMMIT=re.search(r"commit ([0-9a-z-]+)", said)[1],
                   DEB_VERSION=packages["bramley"].name.split("_")[1], SOURCE_DATE_EPOCH=time)
    check_same(packages, copy / ".build/dist")
    sums = []
    for place in (ROOT, copy):
        archives = tmp_path / f"archives-of-{place.name}"
        output(place / "scripts/dist.sh", timeout=None, env=os.environ | {
            "BUILT": str(place / ".build/release"), "DIST": str(archives), "SOURCE_DATE_EPOCH": time})
        sums.append((archives / "SHA256SUMS").read_text())
    assert sums[0] == sums[1] and sums[0].count(".tar.gz") == 2


def test_installed_files_have_the_right_owners_and_modes(packages):
    found = content(packages["bramley"])
    assert found["/etc/bramley/config.json"] == "-rw-r----- root/root" and found["/etc/bramley/"] == "drwxr-x--- root/root"
    assert found["/usr/share/doc/bramley/docs/start/install.md"] == "-rw-r--r-- root/root"
    assert found["/usr/bin/bramley"] == "-rwxr-xr-x root/root"
    assert {owner.split()[1] for owner in found.values()} == {"root/root"}
    assert not [path for path in found if path.startswith(("/var", "/run", "/home", "/usr/local"))]


def test_every_command_has_its_manual(packages, tmp_path):
    output("dpkg-deb", "-x", packages["bramley"], tmp_path / "packed")
    (tmp_path / "made").mkdir()
    output(ROOT / "scripts/manual.py", tmp_path / "packed/usr/bin/bramley", tmp_path / "made")
    packed = {file.name.removesuffix(".gz"): gzip.decompress(file.read_bytes()).partition(b"\n")[2]
              for file in (tmp_path / "packed/usr/share/man/man1").iterdir()}
    # Without the first line, which has the date of the build.
    assert packed == {file.name: file.read_bytes().partition(b"\n")[2] for file in (tmp_path / "made").iterdir()}


@pytest.mark.parametrize("name", ["bramley", "apple-simulator"])
def test_the_bill_of_materials_is_whole(packages, tmp_path, name):
    output("dpkg-deb", "-x", packages[name], tmp_path)
    bill = tmp_path / f"usr/share/doc/{name}/{name}.spdx.json"
    document = json.loads(bill.read_text())
    named = {one["name"]: one for one in document["packages"]}
    pins = json.loads((ROOT / "Package.resolved").read_text())["pins"]
    assert {pin["identity"] for pin in pins} <= set(named)
    assert all(pin["state"]["revision"] in named[pin["identity"]]["downloadLocation"] for pin in pins)
    assert all(named[pin["identity"]]["licenseDeclared"] != "NOASSERTION" for pin in pins)
    # Without "| libssl3t64 (>= 3.0.0)": here it has the other name.
    depends = re.sub(r" \| [^,]*", "", output("dpkg-deb", "-f", packages[name], "Depends"))
    libraries = set(re.findall(r"\b(lib[a-z0-9.+-]+)", depends))
    linked = {one["relatedSpdxElement"].removeprefix("SPDXRef-") for one in document["relationships"]
              if one["relationshipType"] == "DYNAMIC_LINK"}
    # An SPDX id has no plus.
    assert libraries and {name.replace("+", "-") for name in libraries} == linked
    assert validate_full_spdx_document(parse_file(str(bill))) == []


def test_install_configure_serve_and_remove(debian, packages):
    said = debian.install(packages["bramley"], packages["apple-simulator"])
    assert "Next: sudo bramley init" in said
    # Nothing runs, and nothing is to run, before it is configured.
    assert not (debian.root / "etc/systemd/system/multi-user.target.wants/bramley.service").exists()
    assert debian.status("/etc/bramley") == ("root", "bramley", 0o750)
    assert debian.status("/etc/bramley/config.json") == ("root", "bramley", 0o640)
    assert debian.status("/var/backups/bramley") == ("bramley", "bramley", 0o700)
    said = debian.run("bramley", "serve", "--config", "/etc/bramley/config.json", user="bramley", code=1)
    assert said == ("error: /etc/bramley/config.json: has no settings yet. Write one with sudo bramley init, or name one"
                    " with --config FILE or BRAMLEY_CONFIG.\n1 error\n")
    said = debian.configure()
    assert "Wrote /etc/bramley/config.json" in said and "2. Start the server: sudo systemctl enable --now bramley" in said
    for file in ("config.json", KEY):
        assert debian.status(f"/etc/bramley/{file}") == ("root", "bramley", 0o640), file
    written = json.loads((debian.root / "etc/bramley/config.json").read_text())
    assert written["storage"]["directory"] == "/var/lib/bramley/data" and written["apple"]["privateKeyFile"] == f"/etc/bramley/{KEY}"
    assert "sudo -u bramley bramley" in debian.run("bramley", "users", "list", user="daemon", code=1)
    debian.run("systemctl", "enable", "bramley")
    assert (debian.root / "etc/systemd/system/multi-user.target.wants/bramley.service").is_symlink()

    server = debian.serve_with_apple()
    assert who(sign_in("ada"))
    assert debian.status("/var/lib/bramley/data") == ("bramley", "bramley", 0o700)
    assert "error" not in debian.run("bramley", "doctor", user="bramley")
    debian.stop(server)


def test_upgraded_and_downgraded_people_stay_signed_in(debian, packages, former):
    debian.install(former, packages["apple-simulator"])
    debian.configure()
    configuration = (debian.root / "etc/bramley/config.json").read_bytes()
    server = debian.serve_with_apple()
    ada = sign_in("ada")
    user = who(ada)
    for package in (packages["bramley"], packages["bramley newer"], former):
        # The program is replaced while it runs.
        debian.install(package, options=("--allow-downgrades",))
        assert who(ada) == user
        debian.stop(server)
        server = debian.serve()
        assert who(ada) == user
        assert (debian.root / "etc/bramley/config.json").read_bytes() == configuration
        assert debian.status("/etc/bramley/config.json") == ("root", "bramley", 0o640)
    debian.stop(server)


@pytest.mark.parametrize("answer", [None, "false", "true"])
def test_purge_asks_before_it_deletes_data(debian, packages, answer):
    debian.install(packages["bramley"], packages["apple-simulator"])
    debian.configure()
    debian.run("systemctl", "enable", "bramley")
    server = debian.serve_with_apple()
    sign_in("ada")
    debian.stop(server)
    debian.run("apt-get", "remove", "-y", "bramley")
    assert (debian.root / "etc/bramley/config.json").exists() and (debian.root / f"etc/bramley/{KEY}").exists()
    if answer:
        # As the question's dialogue would be answered: once it is known, `noninteractive` takes what is set.
        debian.run("sh", "-c", f"printf 'bramley bramley/delete-data boolean {answer}\\n' | debconf-set-selections")
    said = debian.run("apt-get", "purge", "-y", "bramley")
    kept = answer != "true"
    assert (debian.root / "var/lib/bramley/data/bramley.db").exists() == kept
    assert (debian.root / "var/backups/bramley").exists() == kept
    assert (debian.root / f"etc/bramley/{KEY}").exists() == kept
    assert ("are still in /var/lib/bramley" in said) == kept
    left = [path for path in ("usr/bin/bramley", "etc/systemd/system/multi-user.target.wants/bramley.service",
                              "etc/apparmor.d/bramley", "etc/bramley/config.json", "etc/bramley/config.schema.json")
            if (debian.root / path).exists() or (debian.root / path).is_symlink()]
    assert left == []


def test_the_simulator_is_restarted_stopped_and_forgotten(debian, packages):
    debian.install(packages["bramley"], packages["apple-simulator"])
    debian.run("systemctl", "enable", "apple-simulator")
    link = debian.root / "etc/systemd/system/multi-user.target.wants/apple-simulator.service"
    assert link.is_symlink()
    # As where systemd runs; what it would be asked for is written down.
    (debian.root / "run/systemd/system").mkdir(parents=True, exist_ok=True)
    (debian.root / "usr/bin/deb-systemd-invoke").write_text('#!/bin/sh\necho "$*" >>"$HOME/asked"\n')
    for arguments, asked in [
        (("install", "--reinstall", f"/root/{packages['apple-simulator'].name}"), "try-restart apple-simulator.service\n"),
        (("remove", "apple-simulator"), "stop apple-simulator.service\n"), (("purge", "apple-simulator"), "")]:
        (debian.root / "root/asked").write_text("")
        debian.run("apt-get", "-y", *arguments)
        assert (debian.root / "root/asked").read_text() == asked, arguments
    assert not link.is_symlink()


def test_changed_file_permissions_survive_an_upgrade(debian, packages):
    debian.install(packages["bramley older"])
    debian.run("dpkg-statoverride", "--update", "--add", "root", "root", "0600", "/etc/bramley/config.json")
    debian.install(packages["bramley"])
    assert debian.status("/etc/bramley/config.json") == ("root", "root", 0o600)


def test_the_service_opens_only_files_that_its_apparmor_profile_allows(debian, packages, tmp_path):
    """Every path it opens, writes, renames or removes, as strace sees it, held against AppArmor's rules."""
    from apparmor import Profile

    debian.install(packages["bramley"], packages["apple-simulator"])
    debian.configure()
    trace = tmp_path / "trace"
    server = debian.serve_with_apple(
        ["strace", "-f", "-qq", "-e", "trace=%file", "-e", "signal=none", "-o", str(trace)])
    assert who(sign_in("ada")) and call(ADMIN, "GET", "/metrics").status == 200
    os.killpg(server.pid, signal.SIGTERM)
    server.wait()
    profile = Profile(debian.root)
    touched = profile.touched(trace.read_text(), begin="/usr/bin/bramley")
    assert len(touched) > 20 and any(path.startswith("/var/lib/bramley/data/") for path, _ in touched)
    assert {one for one in touched if not profile.allows(*one)} == set()
    # And no more than it should: what a service that was taken over would look for.
    for path in ("/etc/shadow", "/srv/secret", "/usr/bin/sh"):
        assert not profile.allows(path, "r"), path
    for path in ("/etc/bramley/config.json", "/usr/bin/bramley", "/etc/cron.d/x", "/usr/lib/x"):
        assert not profile.allows(path, "w"), path
