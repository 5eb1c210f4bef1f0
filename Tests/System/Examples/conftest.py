import pytest

from example import Example


@pytest.fixture(scope="module")
def start(binaries, tmp_path_factory):
    running = {}

    def start(name: str) -> Example:
        if name not in running:
            running[name] = Example(name, binaries, tmp_path_factory.mktemp(name))
        return running[name]

    yield start
    for example in running.values():
        assert example.stop() == 0, example.logs()
