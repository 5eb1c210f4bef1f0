"""A fresh Debian, as a folder, and what is done in it as its administrator would."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

from machine import mount
from patience import PATIENCE, eventually
from processes import finished, output
from programs import ROOT, RunningSimulator, new_key
from web import Browser, call

# What the packages depend on is there: no test needs a network. So is what the documents' commands begin with.
INCLUDED = ("ca-certificates", "debconf", "init-system-helpers", "systemd", "libnghttp2-14", "libsqlite3-0", "libstdc++6",
            "apparmor", "curl", "sudo")
# With the name of OpenSSL's library there. UBUNTU names a mirror, and needs the package ubuntu-keyring.
UBUNTU = os.environ.get("UBUNTU")
RELEASES = {"bookworm": "libssl3", "trixie": "libssl3t64"} | ({"noble": "libssl3t64"} if UBUNTU else {})
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PORT, ADMIN, APPLE = 8080, 9090, 9700
KEY = "AuthKey_F6G7H8I9J0.p8"


def base(release: str) -> Path:
    return ROOT / ".build-deb" / release


def make_base(base: Path, last: str, release: str = "bookworm", further: tuple[str, ...] = ()) -> None:
    """Once: only its copies are changed. It is complete when `last` is there."""
    if not (base / last).exists():
        shutil.rmtree(base, ignore_errors=True)
        base.parent.mkdir(exist_ok=True)
        keyring = ("--keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg",) if release == "noble" else ()
        output("debootstrap", "--variant=minbase", *keyring,
               f"--include={','.join((*INCLUDED, RELEASES[release], *further))}", release, base,
               *((UBUNTU,) if release == "noble" else ()), timeout=None)


class Debian:
    def __init__(self, folder: Path, release: str):
        self.root = folder / "debian"
        self.started: list[subprocess.Popen] = []
        output("cp", "-a", base(release), self.root)
        mount("-t", "proc", "proc", str(self.root / "proc"))
        mount("--bind", "/dev", str(self.root / "dev"))
        (self.root / "etc/hosts").write_text("127.0.0.1 localhost\n")
        # Nothing is to be had from there.
        (self.root / "etc/apt/sources.list").unlink()
        # As in a container: what a package wants to start is not started.
        policy = self.root / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def command(self, arguments: list[str], user: str | None = None, wrap: list[str] = ()) -> list[str]:
        # The account changes last: only root may change its root.
        inside = ["/usr/bin/setpriv", f"--reuid={self.number('passwd', user)}", f"--regid={self.number('group', user)}",
                  "--clear-groups", "--no-new-privs"] if user else []
        return [*wrap, shutil.which("chroot"), str(self.root), "/usr/bin/env", "-i", f"PATH={PATH}", "HOME=/root",
                "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *inside, *arguments]

    def number(self, file: str, name: str) -> int:
        return int(re.search(rf"^{name}:x:(\d+):", (self.root / "etc" / file).read_text(), re.MULTILINE)[1])

    def run(self, *arguments: str, user: str | None = None, code: int = 0) -> str:
        done = finished(*self.command(list(arguments), user))
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def install(self, *packages: Path, options: tuple[str, ...] = ()) -> str:
        for package in packages:
            shutil.copy(package, self.root / "root")
        return self.run("apt-get", "install", "-y", "--no-install-recommends", *options,
                        *(f"/root/{package.name}" for package in packages))

    def status(self, path: str) -> tuple[str, str, int]:
        found = (self.root / path.lstrip("/")).stat()
        names = {kind: {int(line.split(":")[2]): line.split(":")[0]
                        for line in (self.root / "etc" / kind).read_text().splitlines()} for kind in ("passwd", "group")}
        return names["passwd"][found.st_uid], names["group"][found.st_gid], found.st_mode & 0o7777

    def start(self, arguments: list[str], log: str, user: str | None = None, wrap: list[str] = ()) -> subprocess.Popen:
        with (self.root / "root" / log).open("ab") as output:
            self.started.append(subprocess.Popen(
                self.command(arguments, user, wrap), stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                start_new_session=True))
        return self.started[-1]

    def log(self, name: str) -> str:
        return (self.root / "root" / name).read_text(errors="replace")

    # What systemd would do: nothing in a folder is a machine that boots.

    def serve(self, wrap: list[str] = ()) -> subprocess.Popen:
        """bramley.service: its command, its user, its state directory."""
        unit = (self.root / "lib/systemd/system/bramley.service").read_text()
        one = dict(re.findall(r"^(\w+)=(.+)$", unit, re.MULTILINE))
        state = self.root / "var/lib" / one["StateDirectory"]
        state.mkdir(mode=int(one["StateDirectoryMode"], 8), exist_ok=True)
        os.chown(state, self.number("passwd", one["User"]), self.number("group", one["Group"]))
        process = self.start(one["ExecStart"].removesuffix(" $SERVE_OPTIONS").split(), "bramley.log", one["User"], wrap)

        def is_up() -> bool:
            assert process.poll() is None, self.log("bramley.log")
            return status(ADMIN, "/readyz") == 200

        eventually(is_up, "the server")
        return process

    def serve_with_apple(self, wrap: list[str] = ()) -> subprocess.Popen:
        self.start(["apple-simulator", "--port", str(APPLE), "--server-url", f"http://localhost:{PORT}",
                    "--services-id", "com.example.web", "--bundle-id", "com.example.app", "--team-id", "TEAM123456",
                    "--key-id", "F6G7H8I9J0", "--key", f"/root/{KEY}"], "apple.log")
        eventually(lambda: status(APPLE, "/auth/keys") == 200, "the simulated Apple")
        return self.serve(wrap)

    def configure(self) -> str:
        (self.root / "root" / KEY).write_bytes(new_key())
        (self.root / "root" / KEY).chmod(0o600)
        return self.run(
            "bramley", "init", "--non-interactive", "--public-url", f"http://localhost:{PORT}", "--services-id",
            "com.example.web", "--team-id", "TEAM123456", "--private-key-file", f"/root/{KEY}", "--scopes", "name,email",
            "--sign-up", "open", "--bundle-ids", "com.example.app", "--apple-endpoint", f"http://127.0.0.1:{APPLE}", "--apple-script-url",
            f"http://127.0.0.1:{APPLE}/appleauth/static/jsapi/appleid/1/{{locale}}/appleid.auth.js",
            "--admin-port", str(ADMIN))

    def stop(self, process: subprocess.Popen) -> None:
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0, self.log("bramley.log")

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for place in ("dev", "proc"):
            output("umount", self.root / place)
        shutil.rmtree(self.root)


def status(port: int, path: str) -> int | None:
    try:
        return call(port, "GET", path).status
    except OSError:
        return None


def sign_in(person: str) -> Browser:
    browser = Browser(SimpleNamespace(origin=f"http://localhost:{PORT}", apple=RunningSimulator(f"http://127.0.0.1:{APPLE}")))
    browser.sign_in(person)
    return browser


def who(browser: Browser) -> str | None:
    session = browser.session()
    return session["user"]["id"] if session else None
