"""A client that openapi-python-client makes of docs/openapi.yaml works against the server, today's and tomorrow's."""

import datetime
import importlib
import json
import os
import pkgutil
import subprocess
import sys
from functools import reduce
from pathlib import Path

import httpx
import pytest
import yaml

from closed import DOCUMENT
from inhabited import SCOPES
from web import sign_in


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Imports its modules. A warning of the generator is a part of the API that its users do not get."""
    folder = tmp_path_factory.mktemp("generated")
    done = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(DOCUMENT),
         "--output-path", str(folder / "bramley_client"), "--meta", "none", "--fail-on-warning"],
        capture_output=True, text=True, timeout=300,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield lambda name: importlib.import_module(f"bramley_client.{name}")
    sys.path.remove(str(folder))


def reached(site) -> dict:
    """The options of a client. The time limit of a test's machine is not the client's to set."""
    return {"base_url": f"http://127.0.0.1:{site.port}", "headers": {"Host": site.origin.split("//")[1]},
            "timeout": httpx.Timeout(60)}


@pytest.fixture
def backend(site, package):
    return package("client").AuthenticatedClient(**reached(site), token=site.operator.key(*SCOPES))


def test_every_operation_can_be_called(package):
    """The generator does not run what it has made."""
    everything = package("api")
    found = pkgutil.walk_packages(everything.__path__, everything.__name__ + ".")
    operations = [importlib.import_module(module.name) for module in found if not module.ispkg]
    paths = yaml.safe_load(DOCUMENT.read_text())["paths"]
    assert len(operations) == sum(len(set(item) - {"parameters"}) for item in paths.values())


def test_a_generated_client_reads_typed_answers(site, package, backend):
    token, models, Unset = sign_in(site, "ada"), package("models"), package("types").Unset
    [user] = package("api.users.list_users").sync(client=backend).items
    assert isinstance(user, models.User) and user.state == "active" and user.credential_state == "authorized"
    assert isinstance(user.created_at, datetime.datetime) and user.created_at.tzinfo is not None
    changed = package("api.users.patch_user").sync(
        user.id, client=backend, body=models.UserPatch(external_id="shop-77", groups=["staff"]))
    assert (changed.external_id, changed.groups) == ("shop-77", ["staff"])
    told = package("api.session.introspect").sync(client=backend, body=models.IntrospectBody(token=token))
    assert told.active is True and told.sub == user.id and told.external_id == "shop-77"
    unknown = package("api.session.introspect").sync(client=backend, body=models.IntrospectBody(token="brs_nobody's"))
    assert unknown.active is False
    # A browser's session, by its cookie.
    Client, get_session = package("client").Client, package("api.session.get_session").sync
    mine = get_session(client=Client(**reached(site), cookies={"__Host-bramley": token}))
    assert isinstance(mine, models.SignedIn) and mine.user.id == user.id
    assert isinstance(mine.session.expires_at, datetime.datetime)
    signed_out = get_session(client=Client(**reached(site)))
    assert (signed_out.status, signed_out.code) == (401, "signed_out")
    package("api.users.delete_user").sync(user.id, client=backend)
    journal = package("api.events.list_events").sync(client=backend).items
    assert [event.type_ for event in journal] == [
        "user.created", "session.created", "user.updated", "session.ended", "account.deleted"]
    assert all(isinstance(event.time, datetime.datetime) for event in journal)
    # Gone here, and still known by the id it has there.
    assert journal[-1].data.external_id == journal[-2].data.external_id == "shop-77"
    assert isinstance(journal[0].data.external_id, Unset)


def test_a_generated_client_tolerates_new_members_and_values(site, package, backend):
    sign_in(site, "ada")
    live = backend.get_httpx_client()

    def tomorrow(request: httpx.Request) -> httpx.Response:
        answer = live.send(request)
        document = json.loads(answer.content)
        if request.url.path == "/api/v1/events":
            document["items"][0] |= {"type": "user.celebrated", "importance": "high"}
            document["items"][0]["data"] |= {"cause": "birthday", "cake": {"candles": 40}}
        elif request.url.path == "/api/v1/users":
            document["items"][0] |= {"state": "resting", "credentialCause": "of_the_future", "nickname": "Al"}
            document["total"] = 1
        else:
            document["code"] = "a_new_code"
        return httpx.Response(answer.status_code, headers={"Content-Type": answer.headers["Content-Type"]}, json=document)

    backend.set_httpx_client(
        httpx.Client(base_url=str(live.base_url), headers=live.headers, transport=httpx.MockTransport(tomorrow)))
    event = package("api.events.list_events").sync(client=backend).items[0]
    assert (event.type_, event["importance"]) == ("user.celebrated", "high")
    assert (event.data.cause, event.data["cake"]) == ("birthday", {"candles": 40})
    page = package("api.users.list_users").sync(client=backend)
    assert (page.items[0].state, page.items[0].credential_cause, page.items[0]["nickname"]) == (
        "resting", "of_the_future", "Al")
    problem = package("api.users.get_user").sync("usr_" + "0" * 26, client=backend)
    assert (problem.status, problem.code) == (404, "a_new_code")


def answered(document: dict):
    """Every schema that may be met in an answer, with where it is."""
    seen = set()

    def walk(node, place):
        if isinstance(node, dict):
            yield place, node
            reference = node.get("$ref")
            if reference and reference not in seen:
                seen.add(reference)
                names = reference.removeprefix("#/").split("/")
                yield from walk(reduce(lambda target, name: target[name], names, document), reference)
        if isinstance(node, (dict, list)):
            for name, child in node.items() if isinstance(node, dict) else enumerate(node):
                yield from walk(child, f"{place}/{name}")

    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield from walk(operation["responses"], f"{method} {path}")


def test_the_description_allows_new_members_and_values():
    found = list(answered(yaml.safe_load(DOCUMENT.read_text())))
    assert len(found) > 300
    for place, schema in found:
        assert schema.get("additionalProperties", True) is not False, f"{place}: a new member breaks its readers"
        assert not isinstance(schema.get("enum"), list), f"{place}: a new value breaks its readers"
        # Another schema's inside is nobody's business, and generators do not find it.
        assert "/properties/" not in schema.get("$ref", ""), place
        if "pattern" in schema and "T[0-9]{2}:" in str(schema["pattern"]):
            assert schema["format"] == "date-time", place
