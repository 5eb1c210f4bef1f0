"""What the generator cannot know of the description, or of one session it uses up."""

import itertools
import json
import os
import re

import schemathesis

PLACE = json.loads(os.environ["BRAMLEY_TEST_PLACE"])
addresses = itertools.count()
spare = itertools.cycle(PLACE["spare"])
# What each operation on a link is called with: ids, and the secret or the code that goes with each.
OWNED = {
    "POST /api/v1/links/{id}/authorize": ("tickets", "Authorization"),
    "POST /api/v1/links/{id}/complete": ("linkCodes", "code"),
}
# What the configuration names.
FIRST_TICKET = next(iter(PLACE["tickets"].values()))
turns = {label: itertools.cycle(PLACE[name].items()) for label, (name, _) in OWNED.items()}
BOUNDED = {"PATCH /api/v1/users/{id}", "POST /api/v1/links"}


def fits_the_database(patch) -> bool:
    """JSON Schema counts characters, the server bytes: the one rule of the description that is in words only."""
    if not isinstance(patch, dict):
        return True
    texts = [(patch.get("externalID"), 255), (patch.get("displayName"), 128)]
    if isinstance(patch.get("groups"), list):
        texts += [(group, 64) for group in patch["groups"]]
    return all(len(text.encode("utf-8", "surrogatepass")) <= most for text, most in texts if isinstance(text, str))


@schemathesis.hook
def filter_query(context, query) -> bool:
    """A query has at most 32 parameters in all, which JSON Schema cannot say either."""
    return sum(len(value) if isinstance(value, list) else 1 for value in (query or {}).values()) <= 32


@schemathesis.hook
def filter_body(context, body) -> bool:
    return context.operation.label not in BOUNDED or fits_the_database(body)


def bring_what_belongs(case, name: str, where: str) -> None:
    """A good id becomes that of a link there is, a good secret its own; what is meant to be wrong or missing stays."""
    known, link = PLACE[name], str(case.path_parameters.get("id"))
    if link not in known and re.fullmatch("lnk_[0-9a-hjkmnp-tv-z]{26}", link):
        case.path_parameters["id"], _ = next(turns[case.operation.label])
    secret = known.get(case.path_parameters.get("id"))
    if secret is None:
        return
    if where == "code":
        if isinstance(case.body, dict) and case.body.get("code") == PLACE["code"]:
            case.body["code"] = secret
    elif case.headers.get("Authorization") == f"Bearer {FIRST_TICKET}":
        case.headers["Authorization"] = f"Bearer {secret}"


@schemathesis.hook
def before_call(context, case, kwargs) -> None:
    """Each call has an address of its own, by which refused keys are limited, and a session where the route ends it."""
    case.headers["X-Forwarded-For"] = f"198.18.{next(addresses) // 250 % 250}.{next(addresses) % 250}"
    if owned := OWNED.get(case.operation.label):
        bring_what_belongs(case, *owned)
    if case.operation.label not in ("DELETE /api/v1/session", "DELETE /api/v1/account"):
        return
    case.headers["Sec-Fetch-Site"] = "same-origin"
    if case.cookies.get("__Host-bramley") == PLACE["session"]:
        case.cookies["__Host-bramley"] = next(spare)


@schemathesis.hook
def filter_failure(context, failure, case, response) -> bool:
    """An empty list of sessions stays. A secret that is not this link's is answered as a link that there is not. No
    schema says what an address may be, that a public client has no secret, or that 39.0 is no integer."""
    kind = type(failure).__name__
    if kind == "RejectedPositiveData" and isinstance(case.body, dict) and isinstance(case.body.get("keepOldDays"), float):
        return False
    if kind == "RejectedPositiveData" and case.operation.label == "PUT /api/v1/clients/{id}":
        return not re.search("URI:|a public client has no secret|clientID|group:|name:", response.json()["detail"])
    if kind == "IgnoredAuth" and OWNED.get(case.operation.label, ("", ""))[1] == "Authorization":
        # The response here is that to the right one.
        return "got `404" not in failure.message or "invalid credentials" not in failure.message
    return not (kind == "UseAfterFree" and failure.free.endswith("/sessions"))


@schemathesis.hook
def after_call(context, case, response) -> None:
    with open(PLACE["answers"], "a") as answers:
        answers.write(f"{case.operation.label} {response.status_code}\n")
