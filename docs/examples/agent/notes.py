"""Notes of each person, for their agents: an MCP server behind Bramley, which says who allowed what."""

import os
import sqlite3

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider, require_scopes
from fastmcp.server.auth.providers.introspection import IntrospectionTokenVerifier
from fastmcp.server.dependencies import get_access_token
from starlette.middleware import Middleware
from starlette.responses import Response

HERE, ISSUER, DATABASE = os.environ["NOTES_URL"], os.environ["ISSUER"], os.environ["NOTES_DATABASE"]
with open(os.environ["SERVICE_SECRET_FILE"]) as file:
    SECRET = file.read().strip()
# What a tool needs beyond the scope that everything needs.
NEEDS = {"add_note": "notes.write"}

mcp = FastMCP("Notes", auth=RemoteAuthProvider(
    # Without its cache: a token that was withdrawn must not work for another second.
    IntrospectionTokenVerifier(
        introspection_url=f"{ISSUER}/api/v1/introspect", client_id="notes", client_secret=SECRET,
        audience=f"{HERE}/mcp"),
    # Plain text: AnyHttpUrl would add a slash, and clients would refuse the issuer.
    authorization_servers=[ISSUER], base_url=HERE, resource_name="Notes",
    # Not at the verifier, which would answer 401.
    required_scopes=["notes.read"], challenge_scopes=["notes.read"], scopes_supported=["notes.read", "notes.write"]))


# The tools

@mcp.tool
def list_notes() -> list[str]:
    """The person's notes, newest first."""
    with sqlite3.connect(DATABASE) as database:
        rows = database.execute("SELECT text FROM note WHERE user = ? ORDER BY rowid DESC", [person()])
        return [text for text, in rows]


@mcp.tool(auth=require_scopes("notes.write"))
def add_note(text: str) -> str:
    """Adds a note."""
    with sqlite3.connect(DATABASE) as database:
        database.execute("INSERT INTO note (user, text) VALUES (?, ?)", [person(), text[:1000]])
    return "added"


def person() -> str:
    """Bramley's id of who allowed it, which never changes."""
    return get_access_token().claims["sub"]


class StepUp:
    """Answers 403 with the scope that is missing, so that the agent asks the person for more (RFC 6750 §3.1). The tool
    itself would only be unknown."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        needed = NEEDS.get(dict(scope.get("headers", [])).get(b"mcp-name", b"").decode())
        user = scope.get("user")
        if needed and user and user.is_authenticated and needed not in user.scopes:
            await Response(status_code=403, headers={"WWW-Authenticate": (
                f'Bearer error="insufficient_scope", scope="{needed}", '
                f'resource_metadata="{HERE}/.well-known/oauth-protected-resource/mcp"')})(scope, receive, send)
        else:
            await self.app(scope, receive, send)


if __name__ == "__main__":
    with sqlite3.connect(DATABASE) as first:
        first.execute("CREATE TABLE IF NOT EXISTS note (user TEXT NOT NULL, text TEXT NOT NULL)")
    uvicorn.run(
        mcp.http_app(middleware=[Middleware(StepUp)]), host="127.0.0.1", port=int(os.environ["NOTES_PORT"]),
        log_level="warning")
