"""What must be known of a person at the end, whatever went wrong: a function of what they did. It asks nobody."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    state: str
    # Why it is so; None where two ends came in an order that nobody knows.
    cause: str | None
    is_disabled: bool
    # Clients whose refresh token is stored.
    tokens: frozenset[str]


def kept(person) -> Kept | None:
    """None: nothing at all."""
    end = person.last_end
    # Only what arrived counts; of the rest the daily check has found out that the tokens are dead.
    word = end["type"] if end and end["word"]["arrived"] else None
    told_gone = word in ("account-delete", "account-deleted")
    if not person.is_known or told_gone and end["policy"] == "erase":
        return None
    disabled = person.is_disabled or told_gone
    if person.consents:
        live = frozenset(person.live_clients())
        return Kept("authorized", None, disabled, live) if live else Kept("revoked", "token_dead", disabled, live)
    assert end is not None, person.id
    if told_gone:
        return Kept("notFound", "account_deleted", True, frozenset())
    if word is None:
        return Kept("revoked", "token_dead", disabled, frozenset())
    # Apple's earlier word outweighs the check's later one; but not one about tokens that a new password had killed.
    return Kept("revoked", "consent_revoked" if end["wasLive"] else None, disabled, frozenset())


def is_alive(held, person) -> bool | None:
    """Whether a session lets its holder in; None where nobody can know."""
    if held.must_have_ended or not person.consents or person.is_disabled:
        return False
    if held.generation == person.generation:
        return True
    if person.signed.get(held.client) != person.generation:
        # The check found the token of that client dead, and ended what it stood for.
        return False
    # Apple never told of the end, and the person was back before the day was over.
    return None
