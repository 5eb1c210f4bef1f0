"""What docs/examples/accounts keeps, asked in this very process: for what somebody else does between two of its steps."""

import importlib.util
import os

import pyotp
import pytest

from demo import EXAMPLE, PASSWORD


@pytest.fixture(scope="module")
def module():
    os.environ["ACCOUNTS_HASH_MEMORY"] = "1024"
    try:
        specification = importlib.util.spec_from_file_location("accounts_of_the_example", EXAMPLE / "accounts.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module
    finally:
        del os.environ["ACCOUNTS_HASH_MEMORY"]


@pytest.fixture
def accounts(module, tmp_path):
    accounts = module.Accounts(str(tmp_path / "accounts.db"))
    accounts.create()
    yield accounts
    accounts.close()


def test_of_two_confirmations_the_first_stays(accounts):
    """Both were let through by the page: it is the transaction that decides."""
    identifier = accounts.sign_up("raced", PASSWORD)
    sessions = [accounts.session(accounts.make_session(accounts.account(identifier))) for _ in range(2)]
    secrets = [accounts.begin_second_factor(session["hash"]) for session in sessions]
    accounts.database.execute("UPDATE account SET totp = ?", [secrets[0]])
    assert not accounts.confirm_second_factor(sessions[1]["hash"], pyotp.TOTP(secrets[1]).now())
    assert accounts.account(identifier)["totp"] == secrets[0]


def test_attack_a_password_that_was_right_before_the_second_factor_came(accounts):
    """A sign-in that was half done when the owner set one up makes no session."""
    identifier = accounts.sign_up("overtaken", PASSWORD)
    checked = accounts.check_password("overtaken", PASSWORD)
    session = accounts.session(accounts.make_session(checked))
    secret = accounts.begin_second_factor(session["hash"])
    assert accounts.confirm_second_factor(session["hash"], pyotp.TOTP(secret).now())
    assert accounts.make_session(checked) is None
    assert accounts.make_session(accounts.account(identifier))


def test_attack_a_second_factor_that_came_while_the_password_was_hashed(accounts, module, monkeypatch):
    accounts.sign_up("slow", PASSWORD)

    class Slow:
        """The hash, and what somebody else does meanwhile."""
        def verify(self, *values):
            module.argon2.PasswordHasher().verify(*values)
            accounts.database.execute("UPDATE account SET totp = 'SECRET'")

        def check_needs_rehash(self, _):
            return False

    monkeypatch.setattr(module, "HASHER", Slow())
    assert accounts.check_password("slow", PASSWORD)["totp"] == "SECRET"


def test_a_password_taken_away_while_it_was_hashed_opens_nothing(accounts, module, monkeypatch):
    identifier = accounts.sign_up("late", PASSWORD)

    class Slow:
        def verify(self, *values):
            module.argon2.PasswordHasher().verify(*values)
            assert accounts.convert("upg_late", identifier, "usr_late")

        def check_needs_rehash(self, _):
            return True

        def hash(self, password):
            return module.argon2.PasswordHasher().hash(password)

    monkeypatch.setattr(module, "HASHER", Slow())
    assert accounts.check_password("late", PASSWORD) is None
    assert accounts.account(identifier)["password"] is None


def test_a_session_that_ended_while_bramley_was_asked_begins_no_link(accounts):
    identifier = accounts.sign_up("ended", PASSWORD)
    session = accounts.session(accounts.make_session(accounts.account(identifier)))["hash"]
    accounts.end_session(session)
    accounts.remember_link("lnk_ended", "link", session)
    assert accounts.link("lnk_ended", session) is None


def test_a_challenge_of_an_account_that_went_is_worth_nothing(accounts):
    identifier = accounts.sign_up("went", PASSWORD)
    accounts.database.execute("DELETE FROM account")
    assert accounts.answer(accounts.challenge(identifier, "page"), "000000", "page") is None
