"""What the app's extension asks before it replaces a password: is the password right, and the code?

An unknown account and a wrong password get the same answer, equally slowly.
"""

from accounts import Accounts, TooMany
from sqlite3 import Row

FAILURE = {"result": "failure"}


def password(accounts: Accounts, name: object, given: object) -> tuple[dict, Row | None]:
    """The answer, and the account once everything was right."""
    if not are_text(name, given):
        return FAILURE, None
    try:
        account = accounts.check_password(name, given)
    except TooMany:
        return FAILURE, None
    if account is None:
        return FAILURE, None
    if account["totp"]:
        challenge = accounts.challenge(account["id"], "upgrade")
        return {"result": "twoFactorAuthRequired", "challenge": challenge, "methods": ["totp"]}, None
    return {"result": "success"}, account


def code(accounts: Accounts, challenge: object, given: object) -> tuple[dict, Row | None]:
    if not are_text(challenge, given):
        return FAILURE, None
    try:
        account = accounts.answer(challenge, given, "upgrade")
    except TooMany:
        return FAILURE, None
    return ({"result": "success"}, account) if account else (FAILURE, None)


def are_text(*values: object) -> bool:
    """Whether these can be encoded as UTF-8. JSON strings may hold lone surrogates, which cannot."""
    try:
        return all(isinstance(value, str) and value.encode() is not None for value in values)
    except UnicodeEncodeError:
        return False
