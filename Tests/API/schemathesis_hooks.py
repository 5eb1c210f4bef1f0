"""What the generator cannot know of the description, or of one session it uses up."""

import itertools
import json
import os

import schemathesis

PLACE = json.loads(os.environ["BRAMLEY_TEST_PLACE"])
addresses = itertools.count()
spare = itertools.cycle(PLACE["spare"])


def fits_the_database(patch) -> bool:
    """JSON Schema counts characters, the database bytes: the one rule of the description that is in words only."""
    if not isinstance(patch, dict):
        return True
    texts = [(patch.get("externalID"), 255)]
    if isinstance(patch.get("groups"), list):
        texts += [(group, 64) for group in patch["groups"]]
    return all(len(text.encode("utf-8", "surrogatepass")) <= most for text, most in texts if isinstance(text, str))


@schemathesis.hook
def filter_body(context, body) -> bool:
    return context.operation.label != "PATCH /api/v1/users/{id}" or fits_the_database(body)


@schemathesis.hook
def before_call(context, case, kwargs) -> None:
    """Every call comes from an address of its own: refused keys are limited by it. Two routes end the session they are
    called with: each call gets one of its own, as from a page of the site."""
    case.headers["X-Forwarded-For"] = f"198.18.{next(addresses) // 250 % 250}.{next(addresses) % 250}"
    if case.operation.label not in ("DELETE /api/v1/session", "DELETE /api/v1/account"):
        return
    case.headers["Sec-Fetch-Site"] = "same-origin"
    if case.cookies.get("__Host-bramley") == PLACE["session"]:
        case.cookies["__Host-bramley"] = next(spare)


@schemathesis.hook
def filter_failure(context, failure, case, response) -> bool:
    """Ending all sessions of a user empties their list, and the list stays."""
    return not (type(failure).__name__ == "UseAfterFree" and failure.free.endswith("/sessions"))


@schemathesis.hook
def after_call(context, case, response) -> None:
    with open(PLACE["answers"], "a") as answers:
        answers.write(f"{case.operation.label} {response.status_code}\n")
