"""Twenty seconds of chaos.py; `make chaos` runs more of it. And that it finds what is not so."""

import os
import random
import re

import pytest

from chaos import Run, chaos
from people import APP_ID
from programs import SERVICES_ID

pytestmark = pytest.mark.long


def test_bramley_and_apple_agree_about_everybody(binaries, tmp_path):
    seconds = float(os.environ.get("CHAOS_SECONDS", "20"))
    seed = int(os.environ.get("CHAOS_SEED", str(random.randrange(1_000_000))))
    assert chaos(binaries, tmp_path, seconds, people=18, seed=seed) == []


@pytest.fixture
def run(binaries, tmp_path):
    """Calm: everybody is signed in on the web and in the app, and nothing fails."""
    run = Run(binaries, tmp_path, 12, seed=1)
    try:
        for person in run.people:
            assert person.signs_in_on_the_web() and person.signs_in_from_the_app()
        yield run
    finally:
        run.stop.set()
        run.site.end()


def withdraws(person, kind: str, arrives: bool) -> None:
    told = person.notification(kind)
    person.withdrew(told)
    if arrives:
        assert person.run.deliver(told)
    told["arrived"] = True


def test_planted_losses_are_found_one_for_each_person(run):
    """One thing taken away by hand for each of these people, and nothing for the rest: they are named, and nobody else."""
    (calm, gone, consent, mail, revocation, policy, password, name, session, silent, other_token, ended) = run.people
    # What is as it should be, of every kind.
    withdraws(gone, "account-deleted", arrives=True)
    calm.changes_password()
    # Apple's word that never arrived, believed to have.
    withdraws(consent, "consent-revoked", arrives=False)
    mail.forwarding = mail.notification("email-disabled") | {"arrived": True}
    # A revocation that nobody sends any more.
    run.apple.call("PUT", "faults/revoke", {"status": 503})
    assert revocation.deletes(revocation.deleted_by_backend)
    run.database("DELETE FROM revocation")
    run.apple.call("DELETE", "faults/revoke")
    # The account was erased, and ought to have been disabled.
    withdraws(policy, "account-delete", arrives=True)
    policy.last_end["policy"] = "disable"
    run.settle()
    # A daily check that was not made.
    password.changes_password()
    run.database("UPDATE user SET given_name = NULL WHERE id = ?", name.user)
    run.database("DELETE FROM session WHERE user = ? AND kind = 'browser'", session.user)
    run.apple.call("POST", "consents/revoke", {"person": silent.id})
    run.database(
        "UPDATE apple_credential SET sealed_refresh_token = NULL WHERE client_id = ? AND identity ="
        " (SELECT id FROM apple_identity WHERE user = ?)", SERVICES_ID, other_token.user)
    # A session that outlived its end.
    next(held for held in ended.held if held.client == APP_ID).signed_out = True

    found = run.differences()
    spoilt = {consent, mail, revocation, policy, password, name, session, silent, other_token, ended}
    assert {re.match(r"chaos\d+", text)[0] for text in found} == {person.id for person in spoilt}, found


def test_a_run_without_losses_reports_none(run):
    """The same people and ends, with everything said: under either policy."""
    def agrees() -> None:
        run.settle()
        assert run.differences() == []

    for policy in ("erase", "disable"):
        run.obey(policy)
        gone, deleted, password, *_ = run.people
        assert all(person.signs_in_on_the_web() for person in run.people)
        withdraws(gone, "account-deleted", arrives=True)
        gone.waits_for_the_next_second()
        assert deleted.deletes(deleted.deleted_by_command)
        password.changes_password()
        agrees()
    # Who is disabled comes back, is not let in, and is enabled.
    assert gone.signs_in_on_the_web() and gone.is_disabled
    agrees()
    gone.asks_to_be_let_in()
    assert gone.signs_in_from_the_app() and not gone.is_disabled
    agrees()
