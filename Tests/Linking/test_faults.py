"""The verifier down, lying, hanging, answering twice; Bramley killed at every step. No account is ever without a way in,
none is linked twice, and the password is refused only after `convert` succeeded."""

import concurrent.futures
import contextlib
import time

import pytest

from app import exchanges, post, request, send
from demo import PASSWORD
from gate import DOWN, HANG, LOST, TWICE, says, status
from lies import LIES, UNANSWERED, factor, whole
from orchard import problem
from patience import PATIENCE, eventually
from people import somebody

@pytest.fixture(autouse=True)
def fresh(orchard):
    """No limit is met by accident, and nothing waits from an earlier test."""
    orchard.sql("DELETE FROM account_link WHERE state = 'converting'")


def holds(orchard, name: str, person: str, external: str) -> None:
    """What must be true at any moment."""
    opens = orchard.owner(external) is not None
    works = orchard.password_works(name)
    assert opens or works, "no way in"
    converted = orchard.demo.account(name)["converted_by"]
    assert works == (converted is None), "the password is refused only after convert succeeded"
    assert not converted or opens, "the password is gone and Apple does not open"
    assert orchard.sql("SELECT count(*) FROM apple_identity GROUP BY team, subject HAVING count(*) > 1") == []
    if opens:
        assert orchard.apple_opens(external, person)


# Lies

@contextlib.contextmanager
def logged(orchard, message: str, reason: str):
    """That Bramley says so meanwhile, and why: a lie that is refused for something else has tested nothing."""
    before = len(orchard.server.text())
    yield

    def lines() -> list[str]:
        return [line for line in orchard.server.text()[before:].splitlines() if message in line]

    eventually(lines, f"{message} in the log")
    assert len(lines()) == 1 and f'detail="{reason}' in lines()[0], lines()


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_a_password_is_no_answer(orchard, lie):
    name = f"lie-{list(LIES).index(lie)}"
    fault, reason = LIES[lie]
    orchard.gate.once("verify", fault)
    with logged(orchard, "verifier_unavailable", reason):
        answer = orchard.upgrade(name)
    assert problem(answer) == (503, "verifier_unavailable") and int(answer.headers["Retry-After"]) > 0
    # Not asked again behind anybody's back: each question with a password counts.
    assert len(orchard.gate.questions("verify")) == 1
    assert b"acc_1" not in answer.body


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_a_code_is_no_answer_and_the_next_try_goes_on(orchard, lie):
    orchard.gate.once("verify", says({"result": "twoFactorAuthRequired", "challenge": "c1", "methods": ["totp"]}))
    upgrade = orchard.upgrade(f"coded-{list(LIES).index(lie)}").json()
    fault, reason = LIES[lie]
    orchard.gate.once("secondFactor", fault, says({"result": "success", "externalID": "acc_lied"}))
    with logged(orchard, "verifier_unavailable", reason):
        assert problem(orchard.second_factor(upgrade, "1")) == (503, "verifier_unavailable")
    assert orchard.second_factor(upgrade, "1").json()["result"] == "success"


@pytest.mark.parametrize("lie", UNANSWERED)
def test_a_lie_about_a_conversion_is_no_answer_and_it_is_asked_again(orchard, lie):
    name, person = f"converts-{list(UNANSWERED).index(lie)}", somebody(orchard)
    orchard.person(name)
    external, upgrade = orchard.demo.account(name)["id"], orchard.begun(name)
    content = orchard.sheet(upgrade["nonce"], person)
    fault, reason = UNANSWERED[lie]
    orchard.gate.once("convert", fault)
    with logged(orchard, "conversion not answered", reason):
        answer = orchard.finish(upgrade, content)
    assert problem(answer) == (502, "conversion-failed") and int(answer.headers["Retry-After"]) > 0
    assert b"token" not in answer.body
    # Both ways in are open meanwhile.
    assert orchard.password_works(name) and orchard.owner(external)
    assert orchard.state(upgrade["id"]) == "converting"
    done = orchard.finish(upgrade, content)
    assert done.status == 200, done.body
    assert {q["attemptID"] for q in orchard.gate.questions("convert")} == {upgrade["id"]}
    holds(orchard, name, person, external)
    assert not orchard.password_works(name)


def test_other_words_than_a_refusal_are_none(orchard):
    """What the verifier says beside its word is for nobody."""
    orchard.gate.once("verify", says({"result": "failure", "externalID": "acc_1", "message": "no such user"}))
    answer = orchard.upgrade("wordy")
    assert (answer.status, answer.json()) == (200, {"result": "failure"})


def test_as_many_methods_as_are_taken_are_told(orchard):
    """One more, or a byte more, is a lie of the list above."""
    methods = [f"{number}" * 32 for number in range(8)]
    orchard.gate.once("verify", factor(methods))
    answer = orchard.upgrade("methodical")
    assert answer.status == 200 and answer.json()["methods"] == methods


@pytest.mark.parametrize("methods", [["totp"] * 50 + ["x" * 500, 7], ["x" * 500], ["totp"] * 50],
                         ids=["many and long", "long", "many"])
def test_more_methods_are_not_told(orchard, methods):
    orchard.gate.once("verify", factor(methods))
    answer = orchard.upgrade(f"wordy-{len(methods)}")
    assert problem(answer) == (503, "verifier_unavailable") and b"xxx" not in answer.body


# Silence

def test_an_application_that_hangs_is_given_up(orchard):
    """At both questions, waited for together; a conversion is asked again."""
    orchard.person("stuck")
    person, external, upgrade = somebody(orchard), orchard.demo.account("stuck")["id"], orchard.begun("stuck")
    content = orchard.sheet(upgrade["nonce"], person)
    orchard.gate.asked.clear()
    orchard.gate.always("verify", HANG)
    orchard.gate.once("convert", HANG)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        verified = [pool.submit(orchard.upgrade, "hangs") for _ in range(2)]
        converted = pool.submit(orchard.finish, upgrade, content)
        eventually(lambda: len(orchard.gate.asked) == 3, "the questions")
        # Others are served meanwhile.
        assert problem(orchard.post_link({})) == (400, "invalid_request")
        assert not any(waiting.done() for waiting in (*verified, converted))
        assert [problem(waiting.result()) for waiting in verified] == [(503, "verifier_unavailable")] * 2
        assert problem(converted.result()) == (502, "conversion-failed")
    holds(orchard, "stuck", person, external)
    orchard.gate.heal()
    assert orchard.finish(upgrade, content).status == 200
    holds(orchard, "stuck", person, external)


# Twice

def test_an_answer_that_comes_twice_is_one(orchard):
    orchard.person("echo")
    person, external = somebody(orchard), orchard.demo.account("echo")["id"]
    # The question arrives twice too: the second is refused by the application, and only the first answer is read.
    orchard.gate.once("verify", TWICE)
    upgrade = orchard.begun("echo")
    orchard.gate.once("convert", TWICE)
    done = orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], person))
    assert done.status == 200, done.body
    assert orchard.demo.account("echo")["converted_by"] == upgrade["id"]
    # What was left on the connection is nobody's answer.
    assert orchard.upgrade("echo").json() == {"result": "failure"}
    assert orchard.events(done.json()["user"]["id"]).count("account.upgraded") == 1
    holds(orchard, "echo", person, external)


def test_a_contradicting_second_answer_is_not_read(orchard):
    both = whole(b'{"result":"failure"}') + whole(b'{"result":"success","externalID":"acc_victim"}')
    orchard.gate.once("verify", ("raw", both), says({"result": "failure"}))
    for _ in range(2):
        answer = orchard.upgrade("two-faced")
        assert (answer.status, answer.json()) == (200, {"result": "failure"})


def test_an_answer_that_was_lost_is_asked_for_again(orchard):
    """The password is gone at the application, and Bramley does not know."""
    orchard.person("lost")
    person, external, upgrade = somebody(orchard), orchard.demo.account("lost")["id"], orchard.begun("lost")
    content = orchard.sheet(upgrade["nonce"], person)
    orchard.gate.once("convert", LOST)
    assert problem(orchard.finish(upgrade, content)) == (502, "conversion-failed")
    assert not orchard.password_works("lost")
    holds(orchard, "lost", person, external)
    assert orchard.finish(upgrade, content).status == 200
    assert len(orchard.gate.questions("convert")) == 2


def test_the_job_asks_on_by_itself(orchard):
    orchard.person("left")
    person, external, upgrade = somebody(orchard), orchard.demo.account("left")["id"], orchard.begun("left")
    orchard.gate.once("convert", DOWN)
    assert problem(orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], person))) == (502, "conversion-failed")
    # Nobody asks again. Bramley does, in its own time.
    orchard.retry_conversions()
    eventually(lambda: orchard.state(upgrade["id"]) == "done", "the conversion", orchard.server.text)
    assert not orchard.password_works("left")
    holds(orchard, "left", person, external)


def test_the_operator_sees_what_waits_and_asks_now(orchard):
    orchard.person("shown")
    person, upgrade = somebody(orchard), orchard.begun("shown")
    orchard.gate.always("convert", status(500))
    assert problem(orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], person))) == (502, "conversion-failed")
    listed = orchard.command("links", "list", "--state", "converting")
    assert upgrade["id"] in listed and "converting" in listed
    assert "brt_" not in listed and "bru_" not in listed and upgrade["nonce"] not in listed
    orchard.gate.heal()
    orchard.command("links", "retry", upgrade["id"])
    eventually(lambda: orchard.state(upgrade["id"]) == "done", "the conversion", orchard.server.text)
    assert not orchard.password_works("shown")


# Refusals

def test_a_refusal_removes_the_link(orchard):
    orchard.person("refused")
    person, external, users = somebody(orchard), orchard.demo.account("refused")["id"], orchard.users()
    upgrade = orchard.begun("refused")
    content = orchard.sheet(upgrade["nonce"], person)
    orchard.gate.once("convert", status(409))
    for _ in range(2):
        answer = orchard.finish(upgrade, content)
        assert problem(answer) == (502, "conversion-failed") and "Retry-After" not in answer.headers
    assert orchard.users() == users and orchard.owner(external) is None
    assert orchard.state(upgrade["id"]) == "failed" and len(orchard.gate.questions("convert")) == 1
    assert orchard.password_works("refused")
    # Nothing is burnt: it works another time.
    again = orchard.begun("refused")
    assert orchard.finish(again, orchard.sheet(again["nonce"], person)).status == 200
    holds(orchard, "refused", person, external)


def test_a_refusal_undoes_what_the_commit_changed_and_no_more(orchard):
    orchard.person("partly")
    person, external = somebody(orchard), orchard.demo.account("partly")["id"]
    before = post(orchard, request(orchard, person)).json()
    upgrade = orchard.begun("partly")
    orchard.gate.once("convert", status(409))
    assert problem(orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], person))) == (502, "conversion-failed")
    after = orchard.sql("SELECT id, external_id FROM user WHERE id = ?", before["user"]["id"])
    assert after == [(before["user"]["id"], None)]
    assert send(orchard, "GET", "/api/v1/session", token=before["token"]).status == 200
    assert orchard.password_works("partly") and orchard.owner(external) is None


def test_while_one_conversion_waits_no_other_link_takes_account_or_identity(orchard):
    orchard.person("busy")
    orchard.person("idle")
    person, other = somebody(orchard), somebody(orchard)
    busy, idle = orchard.demo.account("busy")["id"], orchard.demo.account("idle")["id"]
    upgrade = orchard.begun("busy")
    orchard.gate.always("convert", DOWN)
    assert problem(orchard.finish(upgrade, orchard.sheet(upgrade["nonce"], person)))[0] == 502
    assert problem(orchard.tie(busy, other, key=orchard.key("links", "links:replace"))) == (409, "account-already-linked")
    assert problem(orchard.tie(idle, person)) == (409, "identity-linked-elsewhere")
    orchard.gate.heal()
    orchard.retry_conversions()
    eventually(lambda: orchard.state(upgrade["id"]) == "done", "the conversion", orchard.server.text)


# Killed at every step

def killed_while(orchard, waiting, call, *arguments):
    """Kills Bramley while it answers this call, once `waiting` holds; what the caller saw."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        lost = pool.submit(call, *arguments)
        eventually(waiting, "the right moment to kill it", orchard.server.text)
        orchard.kill()
        assert lost.exception() is not None
    orchard.gate.heal()
    orchard.apple.call("POST", "faults/reset")
    orchard.start()


def test_killed_while_the_verifier_is_asked(orchard):
    orchard.person("kill-verify")
    orchard.gate.always("verify", HANG)
    killed_while(orchard, lambda: orchard.gate.questions("verify"), orchard.upgrade, "kill-verify")
    assert orchard.begun("kill-verify")["nonce"] and orchard.password_works("kill-verify")


def test_killed_between_the_steps(orchard):
    """What was answered is durable, at each step; what was not begins anew or goes on."""
    person = orchard.person("kill-between").sets_up_second_factor()
    apple, external = somebody(orchard), orchard.demo.account("kill-between")["id"]
    upgrade = orchard.upgrade("kill-between").json()
    orchard.kill()
    orchard.start()
    passed = orchard.second_factor(upgrade, person.code()).json()
    orchard.kill()
    orchard.start()
    content = orchard.sheet(passed["nonce"], apple)
    done = orchard.finish(upgrade, content)
    orchard.kill()
    orchard.start()
    assert done.status == 200 and orchard.finish(upgrade, content).json()["token"] == done.json()["token"]
    holds(orchard, "kill-between", apple, external)


def test_killed_while_apple_is_asked(orchard):
    orchard.person("kill-apple")
    person, external, upgrade = somebody(orchard), orchard.demo.account("kill-apple")["id"], orchard.begun("kill-apple")
    content, sent = orchard.sheet(upgrade["nonce"], person), exchanges(orchard)
    orchard.apple.call("PUT", "faults/token", {"hang": True})
    killed_while(orchard, lambda: exchanges(orchard) > sent, orchard.finish, upgrade, content)
    holds(orchard, "kill-apple", person, external)
    # Nobody knows whether Apple took the code: it is not sent again.
    orchard.sql("UPDATE code_exchange SET begun_at = begun_at - 31000")
    assert problem(orchard.finish(upgrade, content)) == (400, "code_refused")
    assert exchanges(orchard) == sent + 1 and orchard.password_works("kill-apple")
    again = orchard.begun("kill-apple")
    done = orchard.finish(again, orchard.sheet(again["nonce"], person))
    # Apple gave the name once.
    assert done.status == 200 and done.json()["user"]["name"]["given"] == "Pat"


@pytest.mark.parametrize("fault", [HANG, LOST], ids=["before the answer", "after the password is gone"])
def test_killed_while_the_application_converts(orchard, fault):
    name = f"kill-{fault[0]}"
    orchard.person(name)
    person, external, upgrade = somebody(orchard), orchard.demo.account(name)["id"], orchard.begun(name)
    content = orchard.sheet(upgrade["nonce"], person)
    if fault == HANG:
        orchard.gate.always("convert", HANG)
        killed_while(orchard, lambda: orchard.gate.questions("convert"), orchard.finish, upgrade, content)
    else:
        orchard.gate.once("convert", LOST)
        assert problem(orchard.finish(upgrade, content)) == (502, "conversion-failed")
        orchard.kill()
        orchard.start()
    holds(orchard, name, person, external)
    orchard.retry_conversions()
    eventually(lambda: orchard.state(upgrade["id"]) == "done", "the conversion after the restart", orchard.server.text)
    assert {q["attemptID"] for q in orchard.gate.questions("convert")} == {upgrade["id"]}
    holds(orchard, name, person, external)
    assert not orchard.password_works(name)
    # The client that never heard of it.
    assert orchard.finish(upgrade, content).status == 200
    assert orchard.events(orchard.owner(external)).count("account.upgraded") == 1


def test_killed_again_and_again_under_load(orchard):
    """Six people at once, a server that dies under them, clients that repeat what was not answered."""
    people = {}
    for number in range(6):
        name, person = f"load{number}", somebody(orchard)
        orchard.person(name)
        upgrade = orchard.begun(name)
        people[name] = (person, upgrade, orchard.sheet(upgrade["nonce"], person))

    def insist(name: str):
        _, upgrade, content = people[name]
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                answer = orchard.finish(upgrade, content)
            except OSError:
                time.sleep(0.05)
                continue
            if answer.status == 200 or answer.status == 400:
                return answer
            time.sleep(0.2)
        raise AssertionError(f"{name} was never answered")

    for _ in range(2):
        orchard.gate.once("convert", LOST, status(500), DOWN, LOST)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            asked = len(orchard.gate.asked)
            answers = [pool.submit(insist, name) for name in people]
            eventually(lambda: len(orchard.gate.asked) > asked or all(a.done() for a in answers), "a question")
            orchard.kill()
            # Nor does anybody wait for the pauses, or for what was being asked.
            orchard.retry_conversions()
            orchard.start()
            # As if the half minute were over in which a code may still be on its way.
            orchard.sql("UPDATE code_exchange SET begun_at = begun_at - 31000")
            results = [answer.result() for answer in answers]
        for name, (person, _, _) in people.items():
            holds(orchard, name, person, orchard.demo.account(name)["id"])
    converted = [q["attemptID"] for q in orchard.gate.questions("convert")]
    done = [answer for answer in results if answer.status == 200]
    assert len({answer.json()["user"]["id"] for answer in done}) == len(done)
    # Whoever's code was on its way to Apple begins anew; everybody else is through.
    for (name, (person, upgrade, _)), answer in zip(people.items(), results):
        if answer.status == 200:
            assert not orchard.password_works(name) and upgrade["id"] in converted
        else:
            assert problem(answer) == (400, "code_refused") and orchard.password_works(name, PASSWORD)
