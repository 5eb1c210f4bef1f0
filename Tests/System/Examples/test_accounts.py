"""docs/examples/accounts as somebody starts it. Tests/System/Linking asks it everything else."""

import json
import shutil


from example import ROOT
from processes import output
from programs import new_key, write_private

EXAMPLE = ROOT / "docs/examples/accounts"


def fill(visitor, **fields: str) -> None:
    for name, value in fields.items():
        visitor.find(f"input[name={name}]").send_keys(value)


def test_signing_up_replacing_the_password_and_signing_in(start, make_visitor):
    accounts = start("accounts")
    visitor = make_visitor(accounts)
    visitor.open(f"{accounts.address}/sign-up")
    fill(visitor, name="ada", password="correct horse battery")
    visitor.press("button")
    visitor.press("#replace")
    assert "ada" in visitor.text()
    visitor.goes_through_apple("ada")
    assert "has replaced your password" in visitor.find("#done").text
    visitor.press("#sign-out")
    fill(visitor, name="ada", password="correct horse battery")
    visitor.press("button")
    assert "wrong" in visitor.find(".problem").text
    visitor.press("#apple")
    visitor.goes_through_apple("ada")
    assert visitor.find("#person").text == "ada"
    assert visitor.find("#password").text == "It has no password."


def test_the_configuration_is_valid(binaries, tmp_path):
    """config.json with this machine's files instead of the ones it names: nothing else is wrong with it."""
    settings = json.loads((EXAMPLE / "config.json").read_text())
    write_private(tmp_path / "webhook.secret", b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    write_private(tmp_path / settings["apple"]["privateKeyFile"], new_key())
    shutil.copy(EXAMPLE / "config.json", tmp_path)
    output(binaries / "bramley", "check", "--config", "config.json", cwd=tmp_path)
