"""The verifier: Bramley asks whether a password is right, and says when to remove it.

The signature of each request has been checked (see webhooks.py). An unknown account and a wrong password get the same
answer.
"""

from accounts import Accounts, TooMany

FAILURE = {"result": "failure"}


class Refused(Exception):
    """Not a valid request from Bramley, or a repeated one."""


def answer(accounts: Accounts, message: str, asked: dict) -> tuple[dict | str, int]:
    """The content and status of the answer to a signed request. `message` is its webhook-id."""
    match asked:
        case {"action": "convert", "attemptID": str(attempt), "kind": "upgrade", "externalID": str(account),
              "userID": str(user)}:
            # Repeats until our answer has arrived, so it must be idempotent. 409 ends the attempt.
            if not are_text(attempt, account, user):
                raise Refused("not text")
            return ("", 204) if accounts.convert(attempt, account, user) else ("", 409)
        case {"action": "verify", "username": str(name), "password": str(password)}:
            refuse_repetition(accounts, message)
            return verify(accounts, name, password), 200
        case {"action": "secondFactor", "challenge": str(challenge), "code": str(code)}:
            refuse_repetition(accounts, message)
            return second_factor(accounts, challenge, code), 200
    raise Refused("not understood")


def verify(accounts: Accounts, name: str, password: str) -> dict:
    if not are_text(name, password):
        return FAILURE
    try:
        account = accounts.check_password(name, password)
    except TooMany:
        return FAILURE
    if account is None:
        return FAILURE
    if account["totp"]:
        return {"result": "twoFactorAuthRequired", "challenge": accounts.challenge(account["id"], "verifier"),
                "methods": ["totp"]}
    return {"result": "success", "externalID": account["id"]}


def second_factor(accounts: Accounts, challenge: str, code: str) -> dict:
    if not are_text(challenge, code):
        return FAILURE
    try:
        account = accounts.answer(challenge, code, "verifier")
    except TooMany:
        return FAILURE
    return {"result": "success", "externalID": account["id"]} if account else FAILURE


def refuse_repetition(accounts: Accounts, message: str) -> None:
    """Answers a request with a password or code once, so that a recorded one cannot be replayed."""
    if not accounts.is_new(message):
        raise Refused("asked before")


def are_text(*values: str) -> bool:
    """Whether these can be encoded as UTF-8. JSON strings may hold lone surrogates, which cannot."""
    try:
        return all(value.encode() is not None for value in values)
    except UnicodeEncodeError:
        return False
