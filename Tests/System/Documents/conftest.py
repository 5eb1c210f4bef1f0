import pytest

from stage import Stage


@pytest.fixture(scope="session")
def make_stage(binaries, tmp_path_factory):
    """The stage of all pages, or one apart, made when its first command is run."""
    stages: dict[str, Stage] = {}

    def make(apart: str = "") -> Stage:
        if apart not in stages:
            # What the doctor looks at has no proxy in front, so it may believe in none.
            settings = {"server.trustedProxies": []} if apart == "direct" else {}
            stages[apart] = Stage(binaries, tmp_path_factory.mktemp("stage") / "place", settings)
        return stages[apart]

    yield make
    for stage in stages.values():
        stage.end()
