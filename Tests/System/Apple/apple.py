"""A second Apple, written from what is known of the first: no line is apple-simulator's, and tokens are joserfc's.
It is stricter than Apple. What a careful client does not send is answered, where Apple answers it, and written down in
`complaints`; a test that ends with complaints fails."""

import base64
import functools
import hashlib
import json
import secrets
import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from urllib.parse import parse_qs, parse_qsl, urlsplit

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from answering import Answering
from web import part_of

ISSUER = "https://appleid.apple.com"
CODE_LIFETIME = 300
SECRET_LIFETIME = 15_777_000
# Form fields of each grant (fact sheet, 6 and 9), beside client_id and client_secret.
FIELDS = {
    "authorization_code": {"grant_type", "code", "redirect_uri", "code_verifier"},
    "refresh_token": {"grant_type", "refresh_token"},
    "client_credentials": {"grant_type", "scope"},
}
# Instead of an answer: none at all, or the half of one.
HANG, CUT = (0, "hang", b""), (0, "cut", b"")


class Refused(Exception):
    """An OAuth error: RFC 6749 §5.2."""

    def __init__(self, error: str, description: str | None = None):
        super().__init__(error, description)
        self.body = {"error": error} | ({"error_description": description} if description else {})


@dataclass
class Client:
    id: str
    team: str
    # A Services ID has one; an app has none.
    redirect_uri: str | None = None


@dataclass
class Account:
    id: str
    given: str = "Nils"
    family: str = "Ångström"
    email: str | None = None
    is_private: bool = False


@dataclass
class Sign:
    """What one sign-in was made with, kept with its code and its refresh token."""
    account: Account
    client: Client
    nonce: str | None
    names_redirect: bool
    issued_at: float
    used: bool = False
    dead: bool = False


@dataclass
class Apple:
    clients: dict[str, Client]
    # Per team, the public halves of its keys by key ID, in PEM.
    team_keys: dict[str, dict[str, bytes]]
    complaints: list[str] = field(default_factory=list)
    requests: list[tuple[str, dict]] = field(default_factory=list)
    codes: dict[str, Sign] = field(default_factory=dict)
    refresh_tokens: dict[str, Sign] = field(default_factory=dict)
    migration_tokens: dict[str, str] = field(default_factory=dict)
    transfers: dict[str, tuple[Account, str, str]] = field(default_factory=dict)
    consents: set[tuple[str, str]] = field(default_factory=set)
    # What the next request to a path is answered with instead: status, type, content; HANG or CUT.
    instead: dict[str, list[tuple[int, str, bytes]]] = field(default_factory=dict)
    # Seconds by which its clock is ahead of ours, in identity tokens.
    ahead: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self):
        self.keys = [signing_key("AppleKey01"), signing_key("AppleKey02")]
        self.closing = threading.Event()
        self.server = Answering(self.answer, keeps=True)
        self.origin = self.server.origin

    def close(self) -> None:
        self.closing.set()
        self.server.stop()

    def answer(self, request, body: bytes) -> tuple | None:
        with self.lock:
            status, kind, content = self.reply(request, request.path, body)
        if status == 0:
            if kind == "hang":
                self.closing.wait()
            else:
                request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nContent-Type: application/json\r\n\r\n{")
            return None
        return status, {"Date": formatdate(usegmt=True)} | ({"Content-Type": kind} if kind else {}), content

    def reply(self, request, path: str, body: bytes) -> tuple[int, str, bytes]:
        if not request.headers.get("User-Agent"):
            self.complaints.append(f"{path}: no User-Agent")
        if path == "/auth/keys" and request.command == "GET":
            self.requests.append((path, {}))
            return self.instead_of(path) or (200, *as_json({"keys": [key.as_dict(private=False) for key in self.keys]}))
        endpoints = {"/auth/token": self.token, "/auth/revoke": self.revoke, "/auth/usermigrationinfo": self.migrate}
        if path not in endpoints or request.command != "POST":
            self.complaints.append(f"{request.command} {path}")
            return 404, "text/html", b"<html></html>"
        form = self.form(path, request.headers.get("Content-Type", ""), body)
        self.requests.append((path, form))
        if planned := self.instead_of(path):
            return planned
        try:
            result = endpoints[path](form, request.headers.get("Authorization"))
        except Refused as refused:
            return 400, *as_json(refused.body)
        return 200, *(("", b"") if result is None else as_json(result))

    def instead_of(self, path: str):
        return self.instead[path].pop(0) if self.instead.get(path) else None

    def form(self, path: str, kind: str, body: bytes) -> dict[str, str]:
        if kind != "application/x-www-form-urlencoded":
            self.complaints.append(f"{path}: content type {kind!r}")
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, strict_parsing=True)
        if len({name for name, _ in pairs}) != len(pairs):
            self.complaints.append(f"{path}: a field twice")
        if empty := [name for name, value in pairs if not value]:
            self.complaints.append(f"{path}: empty {empty}")
        return dict(pairs)

    def client(self, form: dict) -> Client:
        """Checks the client secret as "Creating a client secret" demands, joserfc doing the signature."""
        client = self.clients.get(form.get("client_id", ""))
        text = form.get("client_secret", "")
        if client is None or text.count(".") != 2:
            raise Refused("invalid_client")
        header = part_of(text, 0)
        pem = self.team_keys[client.team].get(header.get("kid", ""))
        if header.get("alg") != "ES256" or pem is None:
            raise Refused("invalid_client")
        try:
            claims = jwt.decode(text, ECKey.import_key(pem), algorithms=["ES256"]).claims
        except (JoseError, ValueError) as error:
            self.complaints.append(f"client secret: {error!r}")
            raise Refused("invalid_client") from error
        now = time.time()
        sound = (
            claims.get("iss") == client.team and claims.get("sub") == client.id and claims.get("aud") == ISSUER
            and isinstance(claims.get("iat"), int) and isinstance(claims.get("exp"), int)
            and claims["iat"] <= now + 5 and now < claims["exp"] <= now + SECRET_LIFETIME)
        if not sound:
            raise Refused("invalid_client")
        if claims["exp"] - claims["iat"] > 600:
            self.complaints.append("a client secret lives longer than ten minutes")
        if set(claims) != {"iss", "sub", "aud", "iat", "exp"} or not set(header) <= {"alg", "kid", "typ"}:
            self.complaints.append(f"a client secret says more than it must: {sorted(claims)}, {sorted(header)}")
        return client

    def token(self, form: dict, _) -> dict:
        grant = form.get("grant_type", "")
        if grant not in FIELDS:
            raise Refused("unsupported_grant_type")
        if extra := set(form) - FIELDS[grant] - {"client_id", "client_secret"}:
            self.complaints.append(f"{grant}: {sorted(extra)}")
        return {"authorization_code": self.redeem, "refresh_token": self.renew,
                "client_credentials": self.for_migration}[grant](form)

    def redeem(self, form: dict) -> dict:
        # The code first, then the client: the order the real one was seen to have.
        sign = self.codes.get(form.get("code", ""))
        if sign is None or sign.dead or time.time() - sign.issued_at > CODE_LIFETIME:
            raise Refused("invalid_grant", "The code has expired or has been revoked.")
        if sign.used:
            self.complaints.append("a code came twice")
            raise Refused("invalid_grant", "The code has already been used.")
        self.is_issued(sign, form, "code")
        if form.get("redirect_uri") != (sign.client.redirect_uri if sign.names_redirect else None):
            raise Refused("invalid_grant", "redirect_uri mismatch. The code was not issued to it.")
        sign.used = True
        refresh = "r" + secrets.token_urlsafe(40)
        self.refresh_tokens[refresh] = sign
        return self.tokens(sign, {"nonce": sign.nonce} if sign.nonce else {}) | {"refresh_token": refresh}

    def is_issued(self, sign: Sign, form: dict, what: str) -> None:
        client = self.client(form)
        if client.id != sign.client.id:
            raise Refused("invalid_grant", f"client_id mismatch. The {what} was not issued to {client.id}.")

    def renew(self, form: dict) -> dict:
        sign = self.refresh_tokens.get(form.get("refresh_token", ""))
        if sign is None or sign.dead:
            raise Refused("invalid_grant", "The token has expired or has been revoked.")
        self.is_issued(sign, form, "token")
        return self.tokens(sign, {})

    def tokens(self, sign: Sign, more: dict) -> dict:
        access = "a" + secrets.token_urlsafe(40)
        token = self.identity_token(sign, more | {"at_hash": half_hash(access)})
        return {"access_token": access, "token_type": "Bearer", "expires_in": 3600, "id_token": token}

    def for_migration(self, form: dict) -> dict:
        client = self.client(form)
        if form.get("scope") != "user.migration":
            raise Refused("invalid_scope")
        access = "m" + secrets.token_urlsafe(40)
        self.migration_tokens[access] = client.team
        return {"access_token": access, "token_type": "Bearer", "expires_in": 3600}

    def revoke(self, form: dict, _) -> None:
        self.client(form)
        if form.get("token_type_hint") != "refresh_token":
            self.complaints.append(f"revoke: hint {form.get('token_type_hint')!r}")
        if set(form) != {"client_id", "client_secret", "token", "token_type_hint"}:
            self.complaints.append(f"revoke: {sorted(form)}")
        sign = self.refresh_tokens.get(form.get("token", ""))
        if sign is not None and sign.client.id == form["client_id"] and not sign.dead:
            self.end(sign.account, sign.client.team)
        # 200 and no content, whatever the token was.

    def migrate(self, form: dict, authorization: str | None) -> dict:
        kind, _, bearer = (authorization or "").partition(" ")
        client = self.client(form)
        if kind != "Bearer" or self.migration_tokens.get(bearer) != client.team:
            raise Refused("invalid_client")
        said = set(form) - {"client_id", "client_secret"}
        if said not in ({"sub", "target"}, {"transfer_sub"}):
            self.complaints.append(f"usermigrationinfo: {sorted(said)}")
        if "transfer_sub" in form:
            account, _, recipient = self.transfers.get(form["transfer_sub"], (None, "", ""))
            if account is None or recipient != client.team:
                raise Refused("invalid_request")
            more = {"email": self.relay(account, recipient), "is_private_email": True} if account.is_private else {}
            return {"sub": self.subject(account, recipient)} | more
        accounts = {self.subject(sign.account, client.team): sign.account for sign in self.codes.values()}
        account = accounts.get(form.get("sub"))
        if account is None or (account.id, client.team) not in self.consents or "target" not in form:
            raise Refused("invalid_request")
        entry = (account, client.team, form["target"])
        known = next((sub for sub, other in self.transfers.items() if other == entry), None)
        transfer = known or f"t{secrets.randbelow(10**6):06}.{secrets.token_hex(16)}"
        self.transfers[transfer] = entry
        return {"transfer_sub": transfer}

    def subject(self, account: Account, team: str) -> str:
        digest = hashlib.sha1(f"{team}:{account.id}".encode()).hexdigest()
        return f"{int(digest[:5], 16) % 10**6:06}.{digest[:32]}.{int(digest[-4:], 16) % 2400:04}"

    def relay(self, account: Account, team: str) -> str:
        return hashlib.sha1(f"relay:{team}:{account.id}".encode()).hexdigest()[:10] + "@privaterelay.appleid.com"

    def allows(self, account: Account, client: Client, nonce: str | None, names_redirect: bool) -> tuple[str, str, bool]:
        """The person agrees: a code, the identity token beside it, and whether it is the first time."""
        with self.lock:
            first = (account.id, client.team) not in self.consents
            self.consents.add((account.id, client.team))
            code = f"c{secrets.token_hex(16)}.0.{secrets.token_urlsafe(16)}"
            sign = Sign(account, client, nonce, names_redirect, time.time())
            self.codes[code] = sign
            more = {"c_hash": half_hash(code), "nonce_supported": True} | ({"nonce": nonce} if nonce else {})
            if first and client.redirect_uri is None:
                more["real_user_status"] = 2
            return code, self.identity_token(sign, more), first

    def comes_back(self, account: Account, location: str) -> dict[str, str]:
        """The form that Apple's page posts, for the address the browser was sent to."""
        address = urlsplit(location)
        asked = {name: values[0] for name, values in parse_qs(address.query, strict_parsing=True).items()}
        client = self.clients[asked["client_id"]]
        rules = {
            "path": address.path == "/auth/authorize", "redirect_uri": asked.get("redirect_uri") == client.redirect_uri,
            "response_type": asked.get("response_type") == "code id_token",
            "response_mode": asked.get("response_mode") == "form_post",
            "scope": set(asked.get("scope", "").split(" ")) <= {"name", "email"},
            "spaces as %20": "+" not in address.query, "state": bool(asked.get("state")), "nonce": bool(asked.get("nonce")),
        }
        if broken := [name for name, kept in rules.items() if not kept]:
            self.complaints.append(f"authorize: {broken} in {location}")
        code, token, first = self.allows(account, client, asked.get("nonce"), True)
        form = {"state": asked["state"], "code": code, "id_token": token}
        if first and "scope" in asked:
            user = {"name": {"firstName": account.given, "lastName": account.family}, "email": account.email}
            form["user"] = json.dumps(user, ensure_ascii=False)
        return form

    def hands_over(self, client: Client, team: str) -> None:
        """The app goes to another team, and with it what people allowed."""
        with self.lock:
            self.clients[client.id] = Client(client.id, team, client.redirect_uri)
            for account, sender, recipient in self.transfers.values():
                if (sender, recipient) == (client.team, team) and (account.id, sender) in self.consents:
                    self.consents.add((account.id, team))

    def end(self, account: Account, team: str) -> None:
        """What the person allowed the team is over, with its codes and tokens."""
        with self.lock:
            self.consents.discard((account.id, team))
            for sign in (*self.codes.values(), *self.refresh_tokens.values()):
                if sign.account is account and sign.client.team == team:
                    sign.dead = True

    def identity_token(self, sign: Sign, more: dict) -> str:
        account, team, now = sign.account, sign.client.team, int(time.time()) + self.ahead
        claims = {"iss": ISSUER, "aud": sign.client.id, "exp": now + 86_400, "iat": now,
                  "sub": self.subject(account, team), "auth_time": int(sign.issued_at)} | more
        if account.is_private:
            claims |= {"email": self.relay(account, team), "email_verified": "true", "is_private_email": "true"}
        elif account.email:
            claims |= {"email": account.email, "email_verified": "true"}
        arriving = [sub for sub, (who, _, recipient) in self.transfers.items() if who is account and recipient == team]
        return self.signed(claims | ({"transfer_sub": arriving[0]} if arriving else {}))

    def notification(self, kind: str, account: Account, client: Client, event_time: int | None = None) -> str:
        """The content of a server-to-server notification, `events` a string as in reality; `event_time` in ms."""
        now = time.time() + self.ahead
        event = {"type": kind, "sub": self.subject(account, client.team), "event_time": event_time or int(now * 1000)}
        return json.dumps({"payload": self.signed({
            "iss": ISSUER, "aud": client.id, "iat": int(now), "exp": int(now) + 86_400,
            "jti": secrets.token_urlsafe(16), "events": json.dumps(event)})})

    def signed(self, claims: dict) -> str:
        key = self.keys[-1]
        return jwt.encode({"kid": key.kid, "alg": "RS256"}, claims, key)


@functools.cache
def signing_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"use": "sig", "alg": "RS256", "kid": kid})


def as_json(content: dict) -> tuple[str, bytes]:
    return "application/json;charset=ISO-8859-1", json.dumps(content).encode()


def half_hash(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:16]).rstrip(b"=").decode()
