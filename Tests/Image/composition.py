"""Compose files, as an engine would read them and start what they name."""

import os
import subprocess
from pathlib import Path

import yaml

from container import ROOT, Container
from machine import mount
from patience import eventually


def services(*files: str) -> dict:
    """Those of all files; a later one overrides an earlier."""
    def merge(first, second):
        if isinstance(first, dict) and isinstance(second, dict):
            return first | {key: merge(first[key], value) if key in first else value for key, value in second.items()}
        return first + second if isinstance(first, list) and isinstance(second, list) else second

    whole: dict = {}
    for file in files:
        whole = merge(whole, yaml.safe_load((ROOT / file).read_text())["services"])
    return whole


def environment(service: dict) -> dict[str, str]:
    return {name: str(value) for name, value in service.get("environment", {}).items()}


def image_of(service: dict) -> str:
    """The stage that a service is built from; without a target the last, which is Bramley's."""
    build = service["build"]
    return build.get("target", "bramley") if isinstance(build, dict) else "bramley"


def mounts(service: dict) -> list[tuple[str, str]]:
    return [tuple(entry.split(":")[:2]) for entry in service.get("volumes", [])]


def make_volumes(all_services: dict, folder: Path) -> dict[str, Path]:
    """A folder for each named volume. As an engine does with a new one: it gets the owner of the folder that it covers."""
    names = {source for service in all_services.values() for source, _ in mounts(service) if not source.startswith(".")}
    volumes = {name: folder / name for name in sorted(names)}
    for volume in volumes.values():
        volume.mkdir()
        os.chown(volume, 10001, 10001)
    return volumes


def start_own(all_services: dict, make_container, volumes: dict[str, Path]) -> tuple[Container, Container]:
    """`server` and `apple`, in the order in which they wait for each other."""
    def start(name: str) -> Container:
        service = all_services[name]
        container = make_container(
            image_of(service), volumes={place: volumes[source] for source, place in mounts(service)},
            environment=environment(service), user=service.get("user"))
        container.start(service.get("command"))
        eventually(container.is_up, name, container.text)
        return container

    apple = start("apple")
    return start("server"), apple


def start_other(service: dict, volumes: dict[str, Path], log: Path) -> subprocess.Popen:
    """One of another image: this machine's program of that name, which sees the volumes where the container would."""
    # Folders and files to mount on, which the real machine does not have and does not keep.
    mount("-t", "tmpfs", "tmpfs", "/mnt")
    for source, place in mounts(service):
        target, origin = Path(place), volumes.get(source) or ROOT / source
        if origin.is_dir():
            target.mkdir(parents=True)
        else:
            target.touch()
        mount("--bind", str(origin), place)
    with log.open("ab") as output:
        # Compose reads $$ as $.
        return subprocess.Popen(
            [word.replace("$$", "$") for word in service["command"]], stdout=output, stderr=output,
            stdin=subprocess.DEVNULL, start_new_session=True, env=os.environ | environment(service))
