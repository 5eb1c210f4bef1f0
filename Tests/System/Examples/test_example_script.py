"""`make example` itself."""

import pytest

from example import ROOT, Example
from processes import finished
from programs import listens

EXAMPLES = sorted(file.parent.name for file in (ROOT / "docs/examples").glob("*/start.sh"))


@pytest.mark.parametrize("name", ["", "none", "../examples/flask", "flask/", "FLASK", "."])
def test_an_unknown_example_lists_the_examples(name):
    run = finished(ROOT / "scripts/example.sh", name)
    assert run.returncode == 2
    assert run.stderr.split()[-len(EXAMPLES):] == EXAMPLES
    assert EXAMPLES == ["accounts", "agent", "cluster", "flask", "nginx-static", "node", "openid", "spa"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_control_c_ends_everything_and_a_second_start_finds_its_data(binaries, tmp_path, name):
    key = None
    for _ in range(2):
        example = Example(name, binaries, tmp_path)
        # Who is not signed in is led to where they can.
        assert example.ask("/").status == (303 if name in ("accounts", "agent", "cluster") else 200)
        ports = {int(address.rpartition(":")[2]) for address in (example.address, example.origin, example.apple.origin)}
        assert example.stop() == 0
        assert not any(map(listens, ports))
        assert "Stopping." in (tmp_path / "example.log").read_text()
        secret = next((tmp_path / "data").rglob("sealing.key")).read_text()
        assert key in (None, secret)
        key = secret


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_has_a_guide(name):
    text = (ROOT / "docs/examples" / name / "README.md").read_text()
    assert f"make example NAME={name}" in text
    assert "production" in text or "Your own site" in text
    assert f"[{name}]({name}/README.md)" in (ROOT / "docs/examples/README.md").read_text()
