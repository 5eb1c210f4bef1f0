"""docs/examples/agent and docs/apps/agents.md: an agent that nobody registered acts until consent is withdrawn."""

import json
import re
import sys

import pytest

from patience import PATIENCE, eventually
from programs import Program
from web import call


class Agent:
    """The example's command, as a person runs it; what it wants opened is opened in a visitor's browser."""

    def __init__(self, example, visitor):
        self.example, self.visitor = example, visitor
        script = (example.data / "agent").read_text()
        self.notes = re.search("NOTES_URL='([^']+)'", script)[1]
        (example.data / "tokens.json").unlink(missing_ok=True)

    def begin(self, *words: str) -> Program:
        log = self.example.folder / f"agent-{len(list(self.example.folder.glob('agent-*.log')))}.log"
        return Program([str(self.example.data / "agent"), *words], log, {"BROWSER": "true"})

    def asks(self, program: Program) -> str:
        """The address at which it wants to be allowed."""
        asked = r"\S+/oidc/authorize\?\S+\n"
        eventually(lambda: program.process.poll() is not None or re.search(asked, program.text()), "an address", program.text)
        return re.search(asked, program.text())[0].strip()

    def decides(self, program: Program, decision: str = "allow", person: str | None = None) -> str:
        """The person opens that address and decides; what the agent prints then."""
        self.visitor.open(self.asks(program))
        if person:
            self.visitor.goes_through_apple(person)
        page = self.visitor.find(f"button[value={decision}]")
        assert "Pocket agent" in self.visitor.text() and "an application on this computer" in self.visitor.text()
        page.click()
        self.visitor.wait(lambda _: "return to the agent" in self.visitor.text(), "the agent's own page")
        program.process.wait(PATIENCE)
        return program.text().partition("/oidc/authorize")[2].partition("\n")[2].strip()

    def token(self) -> str:
        return json.loads((self.example.data / "tokens.json").read_text())["tokens"]["access_token"]

    def post(self, token: str | None, headers: dict | None = None):
        """A call of a tool without the agent's library."""
        return call(self.notes, "POST", "/mcp", {"Accept": "application/json, text/event-stream"} | (headers or {}),
                    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, token=token)


@pytest.fixture
def agent(start, make_visitor):
    example = start("agent")
    return Agent(example, make_visitor(example))


def test_an_agent_acts_for_a_person_until_consent_is_withdrawn_at_apple(agent):
    assert agent.decides(agent.begin(), person="ada") == "No notes."
    # Writing is another scope: 403, and the person is asked for both.
    assert agent.decides(agent.begin("Buy", "pears")) == "Buy pears"
    # Nobody is asked for what was allowed.
    again = agent.begin()
    assert again.process.wait(PATIENCE) == 0 and again.text().strip() == "Buy pears"
    agent.example.apple.notify("consent-revoked", "ada")
    refused = agent.post(agent.token()).must(401).headers["WWW-Authenticate"]
    assert 'error="invalid_token"' in refused and f'{agent.notes}/.well-known/oauth-protected-resource/mcp"' in refused
    # The agent asks anew; without the person it gets nothing.
    program = agent.begin()
    agent.visitor.open(agent.asks(program))
    agent.visitor.find(".apple.ready")
    assert program.process.poll() is None and "pears" not in program.text()
    program.stop()


def test_who_ends_its_access_on_the_account_page_is_asked_again(agent):
    assert agent.decides(agent.begin(), person="boris") == "No notes."
    agent.visitor.open("/account")
    assert "Pocket agent" in agent.visitor.text()
    agent.visitor.press('form[action$="/account/applications/end"] button')
    agent.post(agent.token()).must(401)
    assert agent.decides(agent.begin()) == "No notes."


def test_not_now_ends_the_agent(agent):
    assert "access_denied" in agent.decides(agent.begin(), "deny", person="chie")


def test_the_service_says_where_tokens_come_from_and_which_scope_is_missing(agent):
    assert agent.post(None).must(401).headers["WWW-Authenticate"].startswith('Bearer scope="notes.read", resource_metadata=')
    assert call(agent.notes, "GET", "/.well-known/oauth-protected-resource/mcp").json() == {
        "resource": f"{agent.notes}/mcp", "authorization_servers": [agent.example.origin], "resource_name": "Notes",
        "scopes_supported": ["notes.read", "notes.write"], "bearer_methods_supported": ["header"]}
    agent.decides(agent.begin(), person="dana")
    refused = agent.post(agent.token(), {"Mcp-Name": "add_note"}).must(403).headers["WWW-Authenticate"]
    assert 'error="insufficient_scope", scope="notes.write"' in refused
    # Claims about a person are no service's: its token opens nothing else.
    assert call(agent.example.origin, "GET", "/oidc/userinfo", token=agent.token()).status == 401


FASTMCP = """
import asyncio, sys
from fastmcp import Client
from fastmcp.client.auth import OAuth

async def main(service, document):
    auth = OAuth(client_metadata_url=document)
    async with Client(service, auth=auth) as client:
        print("notes:", (await client.call_tool("list_notes")).data)
        first = auth.context.current_tokens.access_token
        # As an hour later.
        auth.context.token_expiry_time = 1
        print("again:", (await client.call_tool("list_notes")).data)
        print("refreshed:", auth.context.current_tokens.access_token != first)

asyncio.run(main(*sys.argv[1:]))
"""


def test_fastmcps_own_client_signs_in_and_refreshes(agent, tmp_path):
    """It asks without cookies first, listens on a port of its own, and leaves the rest to its library."""
    opened, opener = tmp_path / "opened", tmp_path / "browser"
    opener.write_text(f'#!/bin/sh\necho "$1" >>{opened}\n')
    opener.chmod(0o755)
    document = re.search("CLIENT_DOCUMENT='([^']+)'", (agent.example.data / "agent").read_text())[1]
    program = Program([sys.executable, "-c", FASTMCP, f"{agent.notes}/mcp", document], tmp_path / "fastmcp.log",
                      {"BROWSER": f"{opener} %s"})
    try:
        eventually(lambda: opened.exists() or program.process.poll() is not None, "the browser", program.text)
        agent.visitor.open(opened.read_text().strip())
        agent.visitor.goes_through_apple("erin")
        # Its own page has a picture from elsewhere.
        agent.visitor.allow_complaint("gofastmcp.com")
        agent.visitor.find("button[value=allow]").click()
        assert program.process.wait(PATIENCE) == 0, program.text()
    finally:
        program.stop()
    assert "notes: []" in program.text() and "again: []" in program.text() and "refreshed: True" in program.text()
    assert len(opened.read_text().splitlines()) == 1
