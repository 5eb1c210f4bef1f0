"""Programs that others wrote: their settings, where they are installed, and one person before them."""

import re
import subprocess
import sys
from pathlib import Path

import requests

from party import Browser, return_target
from patience import PATIENCE
from programs import ROOT

HERE = Path(__file__).resolve().parent
RECIPES = ROOT / "docs/clients"


def recipe(page: str, language: str, changes: dict[str, str] | None = None) -> str:
    """The settings of a program, as its page or the file to copy has them but for these texts."""
    text = (RECIPES / page).read_text()
    text = re.search(f"```{language}\n(.*?)```", text, re.DOTALL)[1] if page.endswith(".md") else text
    for old, new in (changes or {}).items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def install(*packages: str) -> None:
    subprocess.run([ROOT / "scripts/packages.sh", "test", *packages], check=True, capture_output=True)


def installed(name: str, program: str, *packages: str) -> Path:
    """Packages of PyPI in a virtual environment of their own, which stays for the next time; its programs."""
    folder = ROOT / ".build" / name
    if not (folder / "bin" / program).exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
    return folder / "bin"


class Walk:
    """One person before a program: its own cookies here, those for Bramley in a Browser."""

    def __init__(self, site, origin: str):
        self.site, self.origin = site, origin
        self.browser, self.program = Browser(site), requests.Session()

    def get(self, path: str) -> requests.Response:
        return self.program.get(self.origin + path, allow_redirects=False, timeout=PATIENCE)

    def opens(self, path: str, person: str = "ada") -> requests.Response:
        """The page, with a sign-in on the way if the program asks for one."""
        answer = self.get(path)
        while answer.status_code in (302, 303, 307):
            location = requests.compat.urljoin(answer.url, answer.headers["Location"])
            if not location.startswith(self.site.origin):
                answer = self.program.get(location, allow_redirects=False, timeout=PATIENCE)
                continue
            here = self.browser.get(self.browser.own(location))
            if here.status == 200:
                here = self.browser.return_to(return_target(here), person)
            assert here.status == 303, (here.status, here.body)
            answer = self.program.get(here.location, allow_redirects=False, timeout=PATIENCE)
        return answer
