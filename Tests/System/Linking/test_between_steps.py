"""What docs/examples/accounts keeps, asked in this very process: for what somebody else does between two of its steps."""

import importlib.util
import os
from unittest import mock

import pyotp
import pytest

from demo import EXAMPLE, PASSWORD


@pytest.fixture(scope="module")
def module():
    specification = importlib.util.spec_from_file_location("accounts_of_the_example", EXAMPLE / "accounts.py")
    module = importlib.util.module_from_spec(specification)
    with mock.patch.dict(os.environ, ACCOUNTS_HASH_MEMORY="1024"):
        specification.loader.exec_module(module)
    return module


@pytest.fixture
def accounts(module, tmp_path):
    accounts = module.Accounts(str(tmp_path / "accounts.db"))
    accounts.create()
    yield accounts
    accounts.close()


@pytest.fixture
def slow_hash(module, monkeypatch):
    """Somebody else does something while a password is hashed."""
    def install(meanwhile, is_outgrown: bool = False) -> None:
        class Slow(module.argon2.PasswordHasher):
            def verify(self, *values):
                super().verify(*values)
                meanwhile()

            def check_needs_rehash(self, _):
                return is_outgrown

        monkeypatch.setattr(module, "HASHER", Slow())

    return install


def test_of_two_confirmations_the_first_is_kept(accounts):
    """Both were let through by the page: it is the transaction that decides."""
    identifier = accounts.sign_up("raced", PASSWORD)
    sessions = [accounts.session(accounts.make_session(accounts.account(identifier))) for _ in range(2)]
    secrets = [accounts.begin_second_factor(session["hash"]) for session in sessions]
    accounts.database.execute("UPDATE account SET totp = ?", [secrets[0]])
    assert not accounts.confirm_second_factor(sessions[1]["hash"], pyotp.TOTP(secrets[1]).now())
    assert accounts.account(identifier)["totp"] == secrets[0]


def test_attack_a_correct_password_from_before_the_second_factor_existed(accounts):
    """A sign-in that was half done when the owner set one up makes no session."""
    identifier = accounts.sign_up("overtaken", PASSWORD)
    checked = accounts.check_password("overtaken", PASSWORD)
    session = accounts.session(accounts.make_session(checked))
    secret = accounts.begin_second_factor(session["hash"])
    assert accounts.confirm_second_factor(session["hash"], pyotp.TOTP(secret).now())
    assert accounts.make_session(checked) is None
    assert accounts.make_session(accounts.account(identifier))


def test_attack_a_second_factor_added_while_the_password_was_hashed(accounts, slow_hash):
    accounts.sign_up("slow", PASSWORD)
    slow_hash(lambda: accounts.database.execute("UPDATE account SET totp = 'SECRET'"))
    assert accounts.check_password("slow", PASSWORD)["totp"] == "SECRET"


def begun(accounts, name: str, kind: str = "upgrade") -> tuple[str, str]:
    """An account, and a link of its own whose code is known."""
    identifier = accounts.sign_up(name, PASSWORD)
    accounts.remember_link(f"lnk_{name}", kind, identifier, "owner")
    assert accounts.link(f"lnk_{name}", "owner", "brl_1")["code"] == "brl_1"
    return identifier, f"lnk_{name}"


def finishes(accounts, link: str) -> None:
    accounts.finish_link(accounts.link(link, "owner", "brl_1"), "usr_ada")


def test_a_password_removed_while_it_was_hashed_opens_nothing(accounts, slow_hash):
    identifier, link = begun(accounts, "late")
    slow_hash(lambda: finishes(accounts, link), is_outgrown=True)
    assert accounts.check_password("late", PASSWORD) is None
    assert accounts.account(identifier)["password"] is None


def test_a_rehashed_password_is_still_dropped(accounts, slow_hash):
    identifier, link = begun(accounts, "rehashed")
    before = accounts.account(identifier)["password"]
    slow_hash(lambda: None, is_outgrown=True)
    assert accounts.check_password("rehashed", PASSWORD)["password"] != before
    finishes(accounts, link)
    assert accounts.account(identifier)["password"] is None


def test_a_link_drops_no_password(accounts):
    identifier, link = begun(accounts, "linked", "link")
    finishes(accounts, link)
    account = accounts.account(identifier)
    assert account["password"] and account["apple"] == "usr_ada"


def test_of_two_upgrades_of_one_account_the_second_finds_nothing_to_drop(accounts):
    identifier, first = begun(accounts, "pair")
    accounts.remember_link("lnk_second", "upgrade", identifier, "owner")
    for link in (first, "lnk_second"):
        finishes(accounts, link)
    assert accounts.account(identifier)["password"] is None


def test_only_the_session_that_began_a_link_has_it(accounts):
    _, link = begun(accounts, "owned")
    assert accounts.link(link, "somebody else", "brl_2") is None
    # And the first code stays: nobody puts another in its place.
    assert accounts.link(link, "owner", "brl_2")["code"] == "brl_1"


def test_a_challenge_of_a_deleted_account_is_invalid(accounts):
    identifier = accounts.sign_up("went", PASSWORD)
    accounts.database.execute("DELETE FROM account")
    assert accounts.answer(accounts.challenge(identifier, "page"), "000000", "page") is None
