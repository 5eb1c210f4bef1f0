"""Numbers in the documents are those of the code: what no page is printed from, and no other test compares."""

import re

import pytest

from claimed import ACCOUNTS, BRAMLEY, CLAIMS, LIMITS, UNITS
from documents import PAGES, ROOT, page_name

# What an `N` in an expression below stands for: digits or a word in a page; digits, a product or a shift in a source.
PLACE = re.compile(r"(?<![A-Z\\])N(?![a-z])")
WORDS = {
    "half an": 0.5, "half a": 0.5, "half": 0.5, "a quarter of an": 0.25, "an": 1, "a": 1, "one": 1, "two": 2,
    "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "ten": 10, "sixteen": 16,
}
IN_PAGE = rf"(?<![\w.,])(\d[\d,]*(?:\.\d+)?|(?i:{'|'.join(WORDS)}))(?!\w)"
IN_SOURCE = r"([\d_]+(?:\.\d+)?(?: (?:\*|<<) [\d_]+)*)"
CASES = [(page, claim, source, expression, scale[0] if scale else 1)
         for page, claim, source, expression, *scale in CLAIMS]


def number(text: str) -> float:
    words = text.lower()
    return WORDS[words] if words in WORDS else eval(text.replace(",", ""), {})


def found(expression: str, numbers: str, text: str) -> list[str]:
    return re.findall(PLACE.sub(lambda _: numbers, expression), text)


def value(source: str, expression: str) -> float:
    hits = [hit for file in ROOT.glob(source) for hit in found(expression, IN_SOURCE, file.read_text())]
    assert hits, f"{source} has nothing like {expression}"
    if not PLACE.search(expression):
        return len(hits)
    assert len(set(hits)) == 1, f"{source} has several like {expression}"
    return number(hits[0])


@pytest.mark.parametrize("page, claim, source, expression, scale", CASES,
                         ids=[f"{page}: {claim}" for page, claim, *_ in CASES])
def test_a_number_in_a_page_is_that_of_the_code(page, claim, source, expression, scale):
    said = found(claim, IN_PAGE, (ROOT / page).read_text())
    assert said, f"{page} has nothing like {claim}"
    unit = re.search(rf"N ({'|'.join(UNITS)})s?\b", claim)
    for text in said:
        assert number(text) * (UNITS[unit[1]] if unit else 1) == pytest.approx(value(source, expression) * scale)


def test_a_request_that_goes_through_apple_has_the_room_of_both_addresses():
    room = sum(value(ACCOUNTS + "SignIn/ReturnTarget.swift", f"{limit} = N")
               for limit in ("maximumLength", "maximumErrorReturnLength"))
    assert [number(said) for said in found("longer than N bytes", IN_PAGE, (ROOT / LIMITS).read_text())] == [room]


def test_each_limit_of_a_request_is_compared():
    section = (ROOT / LIMITS).read_text().split("## Sizes and counts")[1].split("\n## ")[0]
    claims = [claim for page, claim, *_ in CASES if page == LIMITS]
    assert [line for line in re.findall("^- .*", section, re.MULTILINE)
            if not any(found(claim, IN_PAGE, line) for claim in claims)] == []


# What a page says in words, which is found among those of a source.
TEXTS = [
    ("docs/operate/operating.md", r"^(\w+): ok$", BRAMLEY + "Server/Readiness.swift", r'"([a-z_]+)"'),
    ("docs/operate/operating.md", r"Other checks are `(\w+)`", BRAMLEY + "Server/Readiness.swift", r'"([a-z_]+)"'),
    ("docs/start/install.md", "`(ca-certificates [^`]+)`", "packaging/dist/bramley/README.md", r"(ca-certificates .+)"),
]


@pytest.mark.parametrize("page, claim, source, expression", TEXTS,
                         ids=[f"{page}: {claim}" for page, claim, *_ in TEXTS])
def test_a_text_in_a_page_is_one_of_the_code(page, claim, source, expression):
    said = re.findall(claim, (ROOT / page).read_text(), re.MULTILINE)
    assert said, f"{page} has nothing like {claim}"
    assert set(said) <= {hit for file in ROOT.glob(source) for hit in re.findall(expression, file.read_text())}


def test_the_schema_step_in_a_page_is_the_newest():
    schema = "".join(file.read_text() for file in ROOT.glob(ACCOUNTS + "Schema/*.swift"))
    newest = max(re.findall(r'name: "([\w-]+)"', schema))
    page = (ROOT / "docs/operate/upgrading.md").read_text()
    assert set(re.findall(r'before-(\d[\w-]+)"', page) + re.findall(r'"step":"([\w-]+)"', page)) == {newest}


def test_the_pauses_between_attempts_in_a_page_are_those_of_the_code():
    source = (ROOT / ACCOUNTS / "Webhooks/WebhookSchedule.swift").read_text()
    seconds = [int(text.replace("_", "")) for text in re.findall(r"delays: \[([\d_, ]+)\]", source)[0].split(", ")]
    said = re.search("tries again after (.+?), each plus", (ROOT / "docs/apps/events.md").read_text())[1]
    pauses = [int(number) * UNITS[unit] for numbers, unit in re.findall(r"([\d, and]+) (second|minute|hour)s", said)
              for number in re.findall(r"\d+", numbers)]
    assert pauses == seconds


# Such as `server.drainTimeout` (25 s), `retention.audit` (400 days) and `server.limits.headerBlock`, 16 KiB.
DEFAULT = re.compile(rf"`([a-z]+\.[A-Za-z.]+)`(?:,| requests)? \(?(\d+(?:,\d{{3}})*)(?: ({'|'.join(UNITS)})s?\b)?")
REFERENCE = ROOT / "docs/reference/configuration.md"
# Written by `bramley check --reference`, which a test of Bramley compares.
DEFAULTS = dict(re.findall(r"^- `([\w.]+)` \((\d+)[;)]", REFERENCE.read_text(), re.MULTILINE))
REPEATED = [(page_name(page), *said) for page in PAGES if page != REFERENCE
            for said in DEFAULT.findall(page.read_text()) if said[0] in DEFAULTS]


@pytest.mark.parametrize("page, key, said, unit", REPEATED, ids=[f"{page}: {key}" for page, key, *_ in REPEATED])
def test_a_default_in_a_page_is_that_of_its_key(page, key, said, unit):
    assert number(said) * UNITS.get(unit, 1) == int(DEFAULTS[key])


def test_defaults_in_pages_are_found():
    assert len(REPEATED) > 10
