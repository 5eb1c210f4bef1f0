"""The schema that editors read, held against the rules of `bramley check` by a validator that knows nothing of Bramley."""

import json
import re

import pytest
from jsonschema import Draft202012Validator

from programs import ROOT, write_private

BROKEN = ROOT / "Tests/Unit/BramleyTests/Broken"


@pytest.fixture(scope="module")
def schema(run_command) -> dict:
    schema = json.loads(run_command("check", "--schema").stdout)
    Draft202012Validator.check_schema(schema)
    return schema


@pytest.fixture
def judge(run_command, schema, tmp_path, key):
    """What both say about a configuration: the loader's complaints by key, and the keys the schema complains about."""
    write_private(tmp_path / "AuthKey_F6G7H8I9J0.p8", key)

    def judge(configuration) -> tuple[dict[str, str], set[str]]:
        write_private(tmp_path / "config.json", json.dumps(configuration).encode())
        run = run_command("check", cwd=tmp_path)
        found = (re.match(r"error: ([\w.$]*)", line) for line in run.stderr.splitlines())
        complaints = {match[1]: match.string for match in found if match}
        assert run.returncode == (1 if complaints else 0), run.stderr
        return complaints, {place(error) for error in Draft202012Validator(schema).iter_errors(configuration)}

    return judge


def place(error) -> str:
    """The key an error is about; entries of a list count as the list."""
    return ".".join(part for part in error.absolute_path if isinstance(part, str))


def good() -> dict:
    return {
        "publicURL": "https://id.example.com",
        "access": {"signUp": "open"},
        # `bramley check` renders every page in each: one is as good for this as all.
        "pages": {"locales": ["en"]},
        "apple": {
            "servicesID": "com.example.web", "teamID": "A1B2C3D4E5", "keyID": "F6G7H8I9J0",
            "privateKeyFile": "AuthKey_F6G7H8I9J0.p8", "scopes": ["name", "email"],
        },
    }


def with_keys(values: dict) -> dict:
    """A good configuration with these keys, by dotted name, set, or removed where the value is `...`."""
    tree = good()
    for name, value in values.items():
        *groups, key = name.split(".")
        group = tree
        for part in groups:
            group = group.setdefault(part, {})
        if value is ...:
            group.pop(key, None)
        else:
            group[key] = value
    return tree


def leaves(schema: dict, prefix: str = ""):
    for name, inner in schema["properties"].items():
        if inner.get("type") == "object":
            yield from leaves(inner, f"{prefix}{name}.")
        elif name != "$schema":
            yield f"{prefix}{name}", inner


def one_of_twins(names: list[str]) -> list[str]:
    """Without the inline spelling of what a file may hold as well: both at once would be the mistake."""
    return [name for name in names if name + "File" not in names and name.removesuffix("s") + "Files" not in names]


def number(inner: dict) -> dict | None:
    return next((part for part in [inner, *inner.get("anyOf", [])] if part.get("type") == "integer"), None)


def test_the_committed_schema_matches_the_program(schema):
    assert json.loads((ROOT / "docs/config.schema.json").read_text()) == schema, "run `make docs`"


@pytest.mark.parametrize("values", [
    {},
    # What does not contradict each other is in one.
    {
        "$schema": "config.schema.json", "apple.scopes": [], "access.signUp": "approval",
        "server.trustedProxies": ["10.0.0.0/8", "::1"], "server.host": "::",
        "button.width": "100%", "button.height": 64, "button.border": False, "button.color": "black",
        "site.name": "Bramley & “Söhne” 李雷", "site.logo": "/logo.png", "site.accentColor": "#2F6B3C",
        "sessions.cookieDomain": "example.com", "sessions.lifetime": 60, "log.level": "trace", "log.format": "text",
        "secrets.sealingKey": "00112233445566778899aabbccddeeff" * 2, "secrets.previousSealingKeys": [],
    },
    {"publicURL": "http://localhost:8080", "apple.scopes": ["email"], "apple.bundleIDs": ["com.example.app"],
     "access.signUp": "closed"},
    {"publicURL": "https://xn--bcher-kva.example/a/b-c_d.e~f", "apple.privateKeyFile": ..., "apple.privateKey": "@KEY@"},
], ids=["nothing more", "much", "of a laptop", "key inline"])
def test_accepted_configurations_validate(judge, key, values):
    values = {name: key.decode() if value == "@KEY@" else value for name, value in values.items()}
    assert judge(with_keys(values)) == ({}, set())


def test_the_example_validates(judge):
    assert judge(json.loads((ROOT / "config.example.json").read_text())) == ({}, set())


def test_every_default_is_a_good_value(judge, schema):
    defaults = {name: inner["default"] for name, inner in leaves(schema) if "default" in inner}
    assert len(defaults) > 20
    values = {name: defaults[name] for name in one_of_twins(list(defaults))}
    del values["webhooks.secretFile"]
    # webhooks.events is refused without an address to send to.
    values |= {"webhooks.url": "https://app.example.com/", "webhooks.secret": "whsec_" + "A" * 44}
    assert judge(with_keys(values)) == ({}, set())


@pytest.mark.parametrize("end", ["minimum", "maximum"])
def test_ranges_are_inclusive(judge, schema, end):
    numbers = {name: part[end] for name, inner in leaves(schema) if (part := number(inner))}
    assert len(numbers) > 20
    # Keys that would contradict another one at these ends.
    ports = {"admin.port": 19090 if end == "maximum" else 19091, "server.redirectPort": 19092}
    assert judge(with_keys(numbers | ports)) == ({}, set())
    step = -1 if end == "minimum" else 1
    complaints, places = judge(with_keys({name: value + step for name, value in numbers.items()}))
    assert set(complaints) == places == set(numbers)


WRONG = [None, True, 5, 1.5, "two words", "", " ", "line\nbreak", [], [5], [""], ["twice", "twice"], {}, {"inner": 1}]


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_a_value_of_the_wrong_kind_is_refused_at_every_key(judge, schema, value):
    complaints, places = judge(with_keys(dict.fromkeys(one_of_twins([name for name, _ in leaves(schema)]), value)))
    # What the schema refuses, the loader refuses; and where the loader speaks of the kind of value, so does the schema.
    assert places <= set(complaints)
    kinds = {name for name, line in complaints.items() if "is expected." in line or "is empty." in line}
    assert kinds <= places, kinds - places
    assert places, "the value fits everywhere"


@pytest.mark.parametrize("name,value", [
    ("access.signUp", "Open"), ("log.level", "verbose"), ("log.format", "xml"), ("button.color", "red"),
    ("button.type", "signin"), ("button.mode", "right-align"), ("button.logoSize", "huge"),
    ("apple.onAccountDeleted", "keep"), ("forwardAuth.style", "both"), ("apple.scopes", ["openid"]),
    ("apple.scopes", ["name", "name"]), ("button.width", "50%"), ("button.width", "280"), ("apple.teamID", "a1b2c3d4e5"),
    ("apple.keyID", "F6G7H8I9J"), ("apple.servicesID", "com.example web"), ("publicURL", "id.example.com"),
    ("publicURL", "https://id.example.com/"), ("publicURL", "https://ID.example.com"),
    ("publicURL", "https://id.example.com?x"), ("$schema", 5), ("server.limits.body", 1.5), ("server.port", "8080"),
    ("site.accentColor", "#fff"), ("site.name", "a\u001b[31m"), ("server.trustedProxies", "127.0.0.1"), ("server.trustedProxies", [""]),
])
def test_refused_values_fail_validation(judge, name, value):
    complaints, places = judge(with_keys({name: value}))
    assert set(complaints) == places == {name}


@pytest.mark.parametrize("name", [
    "sever", "server.prot", "apple.teamid", "server.limits.cookies", "access", "server", "server.limits",
])
def test_unknown_names_and_values_for_groups_are_refused(judge, name):
    complaints, places = judge(with_keys({name: "value"}))
    assert name in complaints and places


@pytest.mark.parametrize("name", [
    "publicURL", "access.signUp", "apple.servicesID", "apple.teamID", "apple.keyID", "apple.scopes",
    "apple.privateKeyFile",
])
def test_a_missing_key_is_refused(judge, name):
    complaints, places = judge(with_keys({name: ...}))
    assert set(complaints) == {name}
    assert places == {name.rpartition(".")[0]}


@pytest.mark.parametrize("group", ["access", "apple"])
def test_a_missing_group_is_refused(judge, group):
    complaints, places = judge(with_keys({group: ...}))
    assert complaints and places == {""}


@pytest.mark.parametrize("values", [
    {"apple.privateKey": "text"},
    {"secrets.sealingKeyFile": "sealing.key", "secrets.sealingKey": "00" * 32},
    {"secrets.previousSealingKeyFiles": [], "secrets.previousSealingKeys": []},
])
def test_two_spellings_of_one_setting_are_refused(judge, values):
    complaints, places = judge(with_keys(values))
    assert len(complaints) == 1
    assert places == {next(iter(values)).split(".")[0]}


def test_secrets_are_marked(schema):
    marked = {name for name, inner in leaves(schema) if inner.get("writeOnly")}
    assert {"apple.privateKey", "secrets.sealingKey", "secrets.previousSealingKeys"} <= marked
    assert not any(name.endswith(("File", "Files")) for name in marked)


def test_every_key_is_described(schema):
    assert all(inner.get("description") for _, inner in leaves(schema))


# What is wrong with the golden files, as far as a schema can know; the empty set is for what only the loader can. About
# names, where a schema complains about the group, some complaint is enough.
GOLDEN = {
    "addresses": {"publicURL", "apple.scopes", "login.attemptLifetime"},
    "empty": {""},
    "empty-values": {
        "publicURL", "access.signUp", "apple.servicesID", "apple.teamID", "apple.keyID", "apple.privateKeyFile",
        "apple.scopes", "apple.issuers", "apple.endpoint",
    },
    "secrets": {"apple"},
    "wrong-types": {
        # Not server.limits.body: 1e5 is a whole number to JSON Schema; the loader wants it written as one.
        "publicURL", "access", "server.port", "server.threads", "server.trustedProxies", "apple.teamID", "apple.keyID",
        "apple.scopes", "button.border", "button.width", "button.height",
    },
}


@pytest.mark.parametrize("file", sorted(BROKEN.glob("*.json")), ids=lambda file: file.stem)
def test_broken_configurations_fail_validation_as_they_fail_to_load(judge, file):
    text = file.read_text().replace("@KEY@", "AuthKey_F6G7H8I9J0.p8")
    if file.stem == "not-json":
        with pytest.raises(ValueError):
            json.loads(text)
        return
    complaints, places = judge(json.loads(text))
    if file.stem == "simulated-on-a-real-site":
        # Only `serve` refuses it.
        assert not complaints and not places
        return
    assert complaints
    if file.stem == "misspelt":
        assert places
    elif file.stem in GOLDEN:
        assert places == GOLDEN[file.stem]
    else:
        # A file this table does not know: at least, the schema is not the stricter one.
        assert all(any(key == part or key.startswith(part + ".") or not part for key in complaints) for part in places)
