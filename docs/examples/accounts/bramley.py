"""Calls to Bramley's API, with the standard library only."""

import http.client
import json
import urllib.error
import urllib.request


class Unavailable(Exception):
    """Bramley gave no usable answer."""


class Problem(Exception):
    """Bramley refused, with a reason (RFC 9457)."""

    def __init__(self, status: int, code: str, retry_after: str | None):
        super().__init__(f"{status} {code}")
        self.status, self.code = status, code
        # Whether the request can be repeated.
        self.is_temporary = retry_after is not None or status in (429, 503)


class Bramley:
    def __init__(self, address: str, key: str):
        """`address`: as this machine reaches it; `key`: an API key with the scopes links, users:read and users:write."""
        self.address, self.key = address, key
        self.opener = urllib.request.build_opener(NoRedirects)

    def person(self, cookies: str | None) -> dict | None:
        """Who is signed in at Bramley in the browser that sent these cookies, or None."""
        if not cookies:
            return None
        try:
            # All of them, unchanged: two session cookies in one request are an attack, which Bramley detects.
            return self._ask("GET", "/api/v1/session", {"Cookie": cookies}, "user", timeout=3)["user"]
        except Problem as problem:
            if problem.status == 401:
                return None
            raise

    def begin_link(self, account: str, kind: str, display_name: str, return_to: str, ticket: str | None) -> dict:
        """Begins a link between the account and an Apple Account, which the person chooses at `url`."""
        asked = {"externalID": account, "kind": kind, "displayName": display_name, "returnTo": return_to}
        return self._ask("POST", "/api/v1/links", self._key(), "id", "url",
                         content=asked | ({"ticket": ticket} if ticket else {}))

    def complete_link(self, link: str, code: str) -> dict:
        """Completes the link, and returns the user. Repeatable; succeeds while the person can sign in with Apple."""
        return self._ask("POST", f"/api/v1/links/{link}/complete", self._key(), "user", content={"code": code}, timeout=30)["user"]

    def opens(self, user: str, account: str) -> bool:
        """Whether Apple opens this account of ours for this user."""
        try:
            found = self._ask("GET", f"/api/v1/users/{user}", self._key(), "externalID", "state", "credentialState")
        except Problem as problem:
            if problem.status == 404:
                return False
            raise
        return (found["externalID"], found["state"], found["credentialState"]) == (account, "active", "authorized")

    def name_account(self, user: str, account: str) -> None:
        """Tells Bramley which of our accounts a user has."""
        self._ask("PATCH", f"/api/v1/users/{user}", self._key(), content={"externalID": account})

    def _key(self) -> dict:
        return {"Authorization": f"Bearer {self.key}"}

    def _ask(self, method: str, path: str, headers: dict, *wanted: str,
             content: dict | None = None, timeout: float = 10) -> dict:
        """The answer, which has the wanted members."""
        body = None if content is None else json.dumps(content).encode()
        question = urllib.request.Request(
            self.address + path, body, headers | {"Content-Type": "application/json"} if body else headers, method=method)
        try:
            try:
                with self.opener.open(question, timeout=timeout) as answer:
                    # 204 has no content.
                    said = {} if answer.status == 204 else json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    raise Problem(error.code, json.load(error)["code"], error.headers["Retry-After"]) from error
            if not isinstance(said, dict) or not all(name in said for name in wanted):
                raise Unavailable("an unexpected answer")
            return said
        # No connection, no HTTP, a truncated answer, no JSON, or other members than wanted.
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
            raise Unavailable(type(error).__name__) from error


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None
