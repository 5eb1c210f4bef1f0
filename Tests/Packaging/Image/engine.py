"""Docker's engine, in a folder and a network of this run: what users do with the images is done with them here."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from patience import eventually
from processes import finished, output
from programs import ROOT, Program

NAMES = ("bramley", "apple-simulator")


def buildah(*arguments: str) -> str:
    """buildah, on the store that `make image` fills."""
    done = finished(ROOT / "scripts/image.sh", "buildah", *arguments, timeout=None)
    assert done.returncode == 0, f"buildah {' '.join(arguments)}: {done.stderr}\nIs there an image? make image"
    return done.stdout.strip()


class Engine:
    def __init__(self, folder: Path):
        self.folder = folder
        self.environment = os.environ | {"DOCKER_HOST": f"unix://{folder}/socket"}
        self.program = Program([
            "dockerd", f"--host=unix://{folder}/socket", f"--data-root={folder}/data", f"--exec-root={folder}/exec",
            f"--pidfile={folder}/pid", "--exec-opt=native.cgroupdriver=cgroupfs"], folder / "dockerd.log")
        eventually(self.is_up, "Docker's engine", self.program.text)

    def is_up(self) -> bool:
        assert self.program.process.poll() is None, self.program.text()
        return self.ask("docker", "info").returncode == 0

    def ask(self, *command: str) -> subprocess.CompletedProcess:
        return finished(*command, cwd=ROOT, env=self.environment, timeout=None)

    def docker(self, *arguments: str) -> str:
        done = self.ask("docker", *arguments)
        assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stderr}"
        return done.stdout.strip()

    def load(self, image: str) -> None:
        self.docker("load", "--quiet", "--input", str(ROOT / f".build-image/{image}-latest.oci.tar"))

    def stand_in(self, image: str, program: str) -> None:
        """This machine's program and a shell, under the name of an image in a registry, which nobody reaches from here."""
        root, busybox, program = self.folder / "root", shutil.which("busybox"), shutil.which(program)
        libraries = re.findall(r"(/\S+) \(0x", output("ldd", program))
        root.mkdir()
        output("cp", "--parents", "--dereference", program, busybox, *libraries, "/etc/passwd", "/etc/group", root)
        (root / "bin").mkdir(exist_ok=True)
        for name in ("sh", "mkdir", "sed"):
            (root / "bin" / name).symlink_to(busybox)
        archive = subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE)
        subprocess.run(
            ["docker", "import", "--change", f"ENV PATH=/bin:{Path(program).parent}", "-", image],
            env=self.environment, stdin=archive.stdout, check=True, stdout=subprocess.DEVNULL)
        assert archive.wait() == 0
        shutil.rmtree(root)

    def end(self) -> None:
        self.program.stop()


class Container:
    def __init__(self, engine: Engine, name: str):
        self.engine, self.name = engine, name

    def state(self) -> dict:
        return json.loads(self.engine.docker("inspect", "--format", "{{json .State}}", self.name))

    def text(self) -> str:
        done = self.engine.ask("docker", "logs", self.name)
        return done.stdout + done.stderr

    def run(self, *command: str) -> subprocess.CompletedProcess:
        return self.engine.ask("docker", "exec", self.name, *command)

    def is_healthy(self) -> bool:
        """The health check that the image names, now: the engine asks each half minute."""
        kind, *command = json.loads(
            self.engine.docker("inspect", "--format", "{{json .Config.Healthcheck.Test}}", self.name))
        assert kind == "CMD" and self.state()["Running"], self.text()
        return self.run(*command).returncode == 0

    def await_health(self) -> "Container":
        eventually(self.is_healthy, self.name, self.text)
        return self

    def stop(self) -> int:
        self.engine.docker("stop", "--time", "60", self.name)
        return self.state()["ExitCode"]

    def start(self) -> None:
        self.engine.docker("start", self.name)
        self.await_health()


class Composition:
    """What Compose starts from these files, with the images that are there; gone at the end."""

    def __init__(self, engine: Engine, *files: str):
        self.engine = engine
        self.command = ["docker-compose", "--project-name=demo", *(f"--file={file}" for file in files)]

    def __enter__(self) -> "Composition":
        self.ask("up", "--detach", "--no-build")
        self["server"].await_health()
        return self

    def __exit__(self, *_) -> None:
        self.ask("down", "--volumes", "--timeout=60")

    def __getitem__(self, service: str) -> Container:
        return Container(self.engine, self.ask("ps", "--quiet", service))

    def ask(self, *arguments: str) -> str:
        done = self.engine.ask(*self.command, *arguments)
        assert done.returncode == 0, f"docker-compose {' '.join(arguments)}: {done.stderr}"
        return done.stdout.strip()
