"""Containers as an engine would run them, without one: an image's own root, user, environment and commands."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

from machine import mount

ROOT = Path(__file__).resolve().parents[2]


def buildah(*arguments: str) -> str:
    """buildah, on the store that `make image` fills."""
    done = subprocess.run(
        [ROOT / "scripts/image.sh", "buildah", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"buildah {' '.join(arguments)}: {done.stderr}\nIs there an image? make image"
    return done.stdout.strip()


class Image:
    """One image of ours, and its files, which nobody changes: what runs from them finds them read-only."""

    def __init__(self, name: str):
        self.name = name
        # As an engine reads it: a health check is in Docker's description of an image, and not in that of OCI.
        self.config = json.loads(buildah("inspect", "--type", "image", f"localhost/{name}"))["Docker"]["config"]
        self.container = buildah("from", "--pull-never", f"localhost/{name}")
        self.root = Path(buildah("mount", self.container))
        self.environment = dict(entry.split("=", 1) for entry in self.config["Env"])
        accounts = [line.split(":") for line in (self.root / "etc/passwd").read_text().splitlines()]
        self.accounts = {key: (int(row[2]), int(row[3])) for row in accounts for key in (row[0], row[2])}

    def remove(self) -> None:
        buildah("umount", self.container)
        buildah("rm", self.container)


class Container:
    """What is started from an image. Its root is read-only but for the volumes and /tmp, and it gains no privileges.

    - volumes: folders of this machine by where the container sees them.
    - user: as `--user` of an engine; else the image's own.
    """

    def __init__(
            self, image: Image, folder: Path, volumes: dict[str, Path] | None = None,
            environment: dict[str, str] | None = None, user: str | None = None):
        self.image = image
        self.environment = image.environment | (environment or {})
        self.user, self.group = image.accounts[user or image.config["User"]]
        self.log = folder / f"{image.name}.log"
        self.process: subprocess.Popen | None = None
        self.root = folder / f"{image.name}-root"
        self.root.mkdir(exist_ok=True)
        # A folder to mount on must be there before the root is read-only.
        for place in volumes or {}:
            (image.root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
        mount("--bind", str(image.root), str(self.root))
        mount("-o", "remount,bind,ro", str(self.root))
        mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(self.root / "tmp"))
        mount("-t", "proc", "proc", str(self.root / "proc"))
        mount("--bind", "/dev", str(self.root / "dev"))
        for place, source in (volumes or {}).items():
            mount("--bind", str(source), str(self.root / place.lstrip("/")))
        # What the image declares as a volume and nobody mounts, an engine makes, with the owner that the image says.
        for place in image.config.get("Volumes") or {}:
            if place not in (volumes or {}):
                status = (image.root / place.lstrip("/")).stat()
                owner = f"uid={status.st_uid},gid={status.st_gid},mode={status.st_mode & 0o7777:o}"
                mount("-t", "tmpfs", "-o", owner, "tmpfs", str(self.root / place.lstrip("/")))

    def command(self, arguments: list[str]) -> list[str]:
        # There is nothing in the root but the program: all that is needed to start it is this machine's.
        return [
            "/usr/bin/env", "-i", *(f"{name}={value}" for name, value in self.environment.items()),
            shutil.which("setpriv"), "--no-new-privs", "--clear-groups",
            shutil.which("unshare"), f"--root={self.root}", f"--wd={self.image.config.get('WorkingDir') or '/'}",
            f"--setgid={self.group}", f"--setuid={self.user}", "--", *arguments]

    def run(self, arguments: list[str]) -> subprocess.CompletedProcess:
        """Another command in the container, as `exec` of an engine."""
        return subprocess.run(
            self.command(arguments), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)

    def start(self, arguments: list[str] | None = None) -> "Container":
        """The image's entry point, with the image's arguments or these."""
        whole = self.image.config["Entrypoint"] + (self.image.config["Cmd"] if arguments is None else arguments)
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command(whole), stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True)
        return self

    def is_healthy(self) -> bool:
        """What the engine would find: the image's own health check, run inside."""
        kind, *command = self.image.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        return self.run(command).returncode == 0

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.text()
        return self.is_healthy()

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self) -> int:
        """As an engine stops it: the signal that the image names, to its first process."""
        os.kill(self.process.pid, getattr(signal, self.image.config.get("StopSignal") or "SIGTERM"))
        return self.process.wait(timeout=60)

    def end(self) -> None:
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        subprocess.run(["umount", "--recursive", str(self.root)], check=True)
