"""Answers lost, and programs killed at each step: no account is without a way in, or linked twice."""

import concurrent.futures
from functools import partial

import pytest

from app import exchanges
from gate import DOWN, HANG, LATE, LOST, says
from orchard import problem, somebody
from patience import eventually, killed_while


def holds(orchard, name: str, person: str, external: str) -> None:
    """What must be true at any moment."""
    opens = orchard.owner(external) is not None
    works = orchard.password_works(name)
    assert opens or works, "no way in"
    assert works == (orchard.demo.account(name)["password"] is not None)
    assert orchard.sql("SELECT count(*) FROM apple_identity GROUP BY team, subject HAVING count(*) > 1") == []
    if opens:
        assert orchard.apple_opens(external, person)


def is_replaced(orchard, name: str, person: str, external: str) -> None:
    """Once, and by Apple."""
    assert not orchard.password_works(name)
    holds(orchard, name, person, external)
    assert orchard.events(orchard.owner(external)).count("account.upgraded") == 1


def prepared(orchard, name: str) -> tuple[str, str, dict, str]:
    """Somebody new who has been to Apple: person, account, upgrade and code."""
    external, person, upgrade = orchard.account(name), somebody(orchard), orchard.begun(name)
    return person, external, upgrade, orchard.proven(upgrade, person)


@pytest.mark.parametrize("fault", [DOWN, LOST], ids=["before it arrives", "after it arrived"])
def test_a_link_that_is_begun_without_an_answer_changes_nothing(orchard, fault):
    name = f"begin-{fault}"
    orchard.person(name)
    orchard.gate.once("begin", fault)
    assert orchard.demo.post("/upgrade", {"name": name, "password": "correct horse battery"}).status == 503
    assert orchard.password_works(name) and orchard.replaces(name, somebody(orchard)).status == 200


@pytest.mark.parametrize("name, fault", [
    ("before", DOWN), ("after", LOST), ("another-answer", says(200, {"nonsense": 1}))])
def test_a_completion_whose_answer_was_lost_is_repeated_by_the_extension(orchard, name, fault):
    person, external, upgrade, code = prepared(orchard, name)
    orchard.gate.once("complete", fault)
    assert orchard.demo.complete(upgrade, code).status == 503
    assert orchard.demo.complete(upgrade, code).status == 200
    is_replaced(orchard, name, person, external)


def test_an_abandoned_completion_is_finished_by_the_event(orchard):
    person, external, upgrade, code = prepared(orchard, "event")
    orchard.gate.once("complete", LOST)
    assert orchard.demo.complete(upgrade, code).status == 503
    eventually(lambda: orchard.demo.account("event")["password"] is None, "the event", orchard.server.text)
    holds(orchard, "event", person, external)
    # What the application asked before it dropped the password: does Apple open the account?
    assert orchard.gate.count("complete") >= 2


@pytest.mark.parametrize("state", ["notFound", "transferred"])
def test_a_completed_link_succeeds_only_while_the_person_can_sign_in(orchard, state):
    link = orchard.begin(f"asked-{state}", "upgrade")
    code = orchard.proven(link, somebody(orchard))
    done = orchard.complete(link, code)
    assert done.status == 200 and orchard.complete(link, code).json() == done.json()
    orchard.sql("UPDATE apple_identity SET credential_state = ? WHERE user = ?", state, done.json()["user"]["id"])
    orchard.restart()
    assert problem(orchard.complete(link, code)) == (409, "link_ended")


def killed(orchard, *call) -> None:
    """The same of the application, once the gate has what it asked for. Then it runs again."""
    before = len(orchard.gate.asked)
    killed_while(orchard.demo.program.kill, lambda: len(orchard.gate.asked) > before, *call)
    orchard.gate.heal()
    orchard.demo.starts()


def test_the_application_killed_before_the_link_is_begun(orchard):
    orchard.person("app-begin")
    orchard.gate.once("begin", HANG)
    killed(orchard, orchard.demo.upgrade, "app-begin")
    assert orchard.password_works("app-begin") and orchard.replaces("app-begin", somebody(orchard)).status == 200


@pytest.mark.parametrize("fault", [HANG, LATE], ids=["before Bramley has completed it", "after Bramley has completed it"])
@pytest.mark.parametrize("way", ["the extension repeats it", "nobody repeats it"])
def test_the_application_killed_while_it_completes(orchard, fault, way):
    name = f"app-{fault}-{way[:3]}"
    person, external, upgrade, code = prepared(orchard, name)
    orchard.gate.once("complete", fault)
    before = orchard.gate.count("complete")
    killed(orchard, orchard.demo.complete, upgrade, code)
    if orchard.owner(external):
        holds(orchard, name, person, external)
    if way == "the extension repeats it":
        assert orchard.demo.complete(upgrade, code).status == 200
    elif fault == LATE:
        # The event comes, again until it is answered, as if the pauses were over.
        assert orchard.gate.count("complete") > before
        pauses = "UPDATE webhook_delivery SET next_attempt_at = 0"
        eventually(lambda: orchard.sql(pauses) or orchard.demo.account(name)["password"] is None, "the event",
                   orchard.server.text)
    else:
        # Nothing was completed: the link ends, and the password works.
        assert orchard.password_works(name)
        return
    is_replaced(orchard, name, person, external)


def test_bramley_or_the_application_killed_between_the_steps(orchard):
    def restarted() -> None:
        orchard.kill()
        orchard.start()

    external = orchard.account("kill-between")
    person, upgrade = somebody(orchard), orchard.begun("kill-between")
    restarted()
    code = orchard.proven(upgrade, person)
    for _ in range(2):
        restarted()
        assert orchard.demo.complete(upgrade, code).status == 200
    orchard.demo.program.kill()
    orchard.demo.starts()
    assert orchard.demo.complete(upgrade, code).status == 200
    holds(orchard, "kill-between", person, external)


def test_bramley_killed_while_apple_is_asked(orchard):
    orchard.person("kill-apple")
    person, upgrade = somebody(orchard), orchard.begun("kill-apple")
    content, sent = orchard.sheet(upgrade["nonce"], person), exchanges(orchard)
    orchard.apple.call("PUT", "faults/token", {"hang": True})
    killed_while(orchard.kill, lambda: exchanges(orchard) > sent, orchard.authorize, upgrade, "ada", content)
    orchard.apple.call("POST", "faults/reset")
    orchard.start()
    # Nobody knows whether Apple took the code: it is not sent again.
    orchard.sql("UPDATE code_exchange SET begun_at = begun_at - 31000")
    assert problem(orchard.authorize(upgrade, content=content)) == (400, "code_refused")
    assert exchanges(orchard) == sent + 1 and orchard.password_works("kill-apple")
    again = orchard.begin(orchard.demo.account("kill-apple")["id"], "upgrade")
    done = orchard.complete(again, orchard.proven(again, person))
    # Apple gave the name once.
    assert done.status == 200 and done.json()["user"]["name"]["given"] == "Pat"


def test_bramley_killed_again_and_again_under_load(orchard):
    """Six people at once, and extensions that repeat what was not answered."""
    people = {name: prepared(orchard, name) for name in (f"load{number}" for number in range(6))}

    def is_complete(upgrade: dict, code: str) -> bool:
        answer = orchard.demo.complete(upgrade, code)
        assert answer.status in (200, 503), answer.text
        return answer.status == 200

    for _ in range(2):
        orchard.gate.once("complete", LOST, DOWN, LOST)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            asked = orchard.gate.count("complete")
            answers = [pool.submit(eventually, partial(is_complete, upgrade, code), "the completion")
                       for _, _, upgrade, code in people.values()]
            eventually(lambda: orchard.gate.count("complete") > asked, "a request")
            orchard.kill()
            orchard.start()
            assert all(answer.result() for answer in answers)
        for name, (person, external, *_) in people.items():
            assert not orchard.password_works(name)
            holds(orchard, name, person, external)
