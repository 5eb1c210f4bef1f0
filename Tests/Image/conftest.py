import pytest

from container import Container, Image
from machine import enter


@pytest.fixture(scope="session", autouse=True)
def own_machine():
    enter()


@pytest.fixture(scope="session")
def images(own_machine):
    made = {}
    try:
        for name in ("bramley", "apple-simulator"):
            made[name] = Image(name)
        yield made
    finally:
        for image in made.values():
            image.remove()


@pytest.fixture
def make_container(images, tmp_path):
    """A container of the image of that name; gone when the test ends."""
    made = []

    def make(name: str, **options) -> Container:
        folder = tmp_path / f"container{len(made)}"
        folder.mkdir()
        made.append(Container(images[name], folder, **options))
        return made[-1]

    yield make
    for container in reversed(made):
        container.end()
