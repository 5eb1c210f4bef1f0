"""Guessing passwords and codes at docs/examples/accounts: one by one, all at once, and with what was fetched before."""

import pytest

from demo import PASSWORD, Person, hidden
from patience import at_once

LIMIT = 10


@pytest.fixture(autouse=True)
def forgotten(demo):
    demo.sql("DELETE FROM failure")


def careful(demo, name: str) -> Person:
    """Somebody with a second factor, signed out."""
    person = Person(demo, name).signs_up().sets_up_second_factor()
    person.post("/sign-out")
    return person


def wrong(person: Person) -> str:
    """No code of now, of the half minute before or of the next."""
    near = {person.code(at) for at in (-30, 0, 30)}
    return next(code for code in ("000000", "111111", "222222", "333333") if code not in near)


class Page:
    def __init__(self, demo, person: Person):
        self.demo, self.person = demo, person

    def challenge(self) -> str:
        answer = self.person.post("/sign-in", {"name": self.person.name, "password": PASSWORD}).must(200)
        return hidden(answer)["challenge"]

    def code(self, challenge: str, code: str) -> bool:
        return Person(self.demo, "x").post("/sign-in/code", {"challenge": challenge, "code": code}).status == 303


class Extension(Page):
    def challenge(self) -> str:
        return self.demo.upgrade(self.person.name)["challenge"]

    def code(self, challenge: str, code: str) -> bool:
        return self.demo.code(challenge, code)["result"] == "success"


def failures(demo) -> int:
    """How many passwords and codes were looked at and wrong."""
    return demo.sql("SELECT count(*) FROM failure")[0][0]


OTHER = {Page: Extension, Extension: Page}
BOTH = pytest.mark.parametrize("way", OTHER)


@BOTH
def test_attack_many_challenges_then_codes(demo, way):
    person = careful(demo, f"hoard-{way.__name__.lower()}")
    entrance = way(demo, person)
    challenges = [entrance.challenge() for _ in range(12)]
    guess = wrong(person)
    assert not any(entrance.code(challenge, guess) for challenge in challenges for _ in range(5))
    assert 0 < failures(demo) <= LIMIT


@BOTH
def test_attack_codes_by_page_and_extension_at_once(demo, way):
    """The limit is one for both entrances, and it holds for the right code as well."""
    person = careful(demo, f"both-{way.__name__.lower()}")
    entrance, other = way(demo, person), OTHER[way](demo, person)
    for _ in range(4):
        demo.upgrade(person.name, "a wrong password")
    own, others, guess = entrance.challenge(), other.challenge(), wrong(person)
    assert not any(other.code(others, guess) for _ in range(4))
    assert not any(entrance.code(own, guess) for _ in range(2))
    assert failures(demo) == LIMIT
    # Both challenges stand, with tries left.
    assert not entrance.code(own, person.code()) and not other.code(others, person.code())
    assert failures(demo) == LIMIT
    demo.sql("UPDATE failure SET at = at - 901")
    assert entrance.code(own, person.code())


def test_guessing_codes_is_limited(demo):
    person = careful(demo, "told")
    challenge = Page(demo, person).challenge()
    for _ in range(LIMIT):
        demo.upgrade("told", "a wrong password")
    answer = person.post("/sign-in/code", {"challenge": challenge, "code": person.code(), "ticket": "brt_x"})
    assert answer.status == 429 and "quarter of an hour" in answer.text and hidden(answer)["ticket"] == "brt_x"
    assert not person.is_in()


@BOTH
def test_a_new_challenge_ends_the_older_of_its_kind(demo, way):
    person = careful(demo, f"newest-{way.__name__.lower()}")
    entrance, other = way(demo, person), OTHER[way](demo, person)
    kept, old, new = other.challenge(), entrance.challenge(), entrance.challenge()
    assert not entrance.code(old, person.code())
    assert entrance.code(new, person.code()) and other.code(kept, person.code())


def test_attack_codes_all_at_once(demo):
    person = careful(demo, "salvo")
    demo.upgrade("salvo", "a wrong password")
    entrances, guess = [Page(demo, person), Extension(demo, person)], wrong(person)
    challenges = [entrance.challenge() for entrance in entrances]
    assert not any(at_once(40, lambda number: entrances[number % 2].code(challenges[number % 2], guess)))
    assert failures(demo) == LIMIT


@pytest.mark.parametrize("exists", [True, False], ids=["a name that exists", "nobody's name"])
def test_attack_passwords_all_at_once(demo, exists):
    name = f"crowd-{exists}".lower()
    if exists:
        Person(demo, name).signs_up()
    answers = at_once(60, lambda number: Person(demo, name, f"a wrong password {number}").signs_in().status)
    assert (answers.count(401), answers.count(429)) == (LIMIT, 60 - LIMIT)
    assert failures(demo) == LIMIT
    assert Person(demo, name).signs_in().status == 429


def test_attack_passwords_all_at_once_through_the_extension(demo):
    Person(demo, "asked").signs_up()
    answers = at_once(60, lambda number: demo.upgrade("asked", f"a wrong password {number}")["result"])
    assert set(answers) == {"failure"} and failures(demo) == LIMIT
    assert demo.upgrade("asked") == {"result": "failure"}
    demo.sql("UPDATE failure SET at = at - 901")
    assert demo.upgrade("asked")["result"] == "success"


@BOTH
def test_right_codes_do_not_count_as_failures(demo, way):
    person = careful(demo, f"right-{way.__name__.lower()}")
    entrance = way(demo, person)
    for _ in range(LIMIT - 1):
        demo.upgrade(person.name, "a wrong password")
    for _ in range(LIMIT + 1):
        assert entrance.code(entrance.challenge(), person.code())
    assert failures(demo) == LIMIT - 1
    # What was wrong before is not forgotten for it.
    assert demo.upgrade(person.name, "a wrong password") == {"result": "failure"}
    assert Person(demo, person.name).signs_in().status == 429
