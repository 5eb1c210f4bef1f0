"""People at the simulated Apple who were never seen before."""

import itertools

NUMBERS = itertools.count(1)


def somebody(orchard) -> str:
    number = next(NUMBERS)
    person = f"person{number}"
    orchard.apple.call("POST", "people", {"id": person, "givenName": "Pat", "familyName": str(number)})
    return person
