"""Every documented route, with its input and its refusals."""

from dataclasses import dataclass

FORM = ("Content-Type", "application/x-www-form-urlencoded")
JSON = ("Content-Type", "application/json")
# server.limits.body by default.
BODY = 524_288


@dataclass(frozen=True)
class Route:
    # "nobody", "page" with a cookie, "session" with a cookie or as an app, "app", "browser" that has been at Apple,
    # "secret" of a link as Bearer, or a scope.
    asker: str = "nobody"
    # The type of what it takes, its members that have to be there, and those that need not.
    takes: tuple[str, str] | None = None
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    # Members that may be null.
    null: tuple[str, ...] = ()
    # No content is good content too.
    may_be_empty: bool = False
    # Bytes that it reads.
    most: int = 0
    # How content that is no good is refused: statuses, and the code of a problem.
    refuses: tuple[int, ...] = (400,)
    code: str = "invalid_request"
    # A value that is well formed and nobody's is an answer, and no mistake of the request.
    unknown: tuple[int, ...] = ()
    # The member whose wrong values use up tries.
    counted: str = ""
    # How a field is refused that comes twice.
    twice: tuple[int, ...] = (400,)
    # Every type is read: whoever sends it may change it.
    any_type: bool = False
    # Members it does not know are ignored.
    ignores_others: bool = False
    # Parameters of the address: any other is refused; and those that must not come twice.
    strict: bool = False
    once: tuple[str, ...] = ()
    # Changes something and is for publicURL's own pages.
    own_pages: bool = False
    # How it is refused from elsewhere.
    elsewhere: int = 403
    good: int = 200


# What a page of ours posts.
OWN = dict(takes=FORM, most=4096, ignores_others=True, own_pages=True, good=303)
NATIVE = dict(takes=JSON, most=65_536)
OIDC = dict(takes=FORM, ignores_others=True)
API = dict(strict=True)
TABLE = {
    **{("GET", path): Route() for path in (
        "/link/{id}", "/link/{id}/attempt", "/account/deleted", "/assets/{path...}", "/.well-known/jwks.json",
        "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
        "/.well-known/apple-app-site-association", "/healthz", "/metrics", "/readyz")},
    **{("GET", path): Route("page") for path in (
        "/account/export", "/account/delete", "/operator", "/operator/doctor", "/operator/server",
        "/operator/users/{id}", "/operator/users/{id}/export", "/operator/clients/{id}")},
    **{("GET", path): Route("page", once=("after",)) for path in (
        "/account", "/operator/groups", "/operator/clients", "/operator/webhooks", "/operator/api-keys")},
    ("GET", "/"): Route("page", good=303),
    ("GET", "/login"): Route(once=("return_to", "error_return")),
    ("GET", "/login/attempt"): Route(once=("return_to", "error_return")),
    ("GET", "/login/apple"): Route(once=("return_to", "error_return"), good=303),
    ("GET", "/link/{id}/apple"): Route(good=303),
    ("POST", "/link/{id}"): Route("browser", own_pages=True, good=303),
    ("POST", "/login/existing"): Route("browser", needs=("waiting", "choice"), refuses=(400, 404), **OWN),
    ("POST", "/apple/callback"): Route(
        takes=FORM, needs=("state", "code", "id_token"), most=BODY, ignores_others=True, good=303),
    ("POST", "/apple/notifications"): Route(
        takes=JSON, needs=("payload",), most=65_536, code="notification_refused", any_type=True, ignores_others=True),
    ("POST", "/account/sessions/revoke"): Route("page", needs=("session",), **OWN),
    ("POST", "/account/sessions/revoke-all"): Route("page", may=("applications",), **OWN),
    ("POST", "/account/applications/end"): Route("page", needs=("client",), **OWN),
    # Back to the page, which says what is missing.
    ("POST", "/account/delete"): Route("page", needs=("confirm", "account"), refuses=(303, 400), unknown=(303,), **OWN),
    ("GET", "/logout"): Route("page", once=("return_to",)),
    ("POST", "/logout"): Route("page", may=("return_to",), may_be_empty=True, **OWN),
    # From elsewhere it leads to the page with the button.
    ("POST", "/logout/switch"): Route("page", may=("return_to",), may_be_empty=True, elsewhere=303, **OWN),
    ("GET", "/operator/users"): Route("page", once=("q", "state", "group", "sort", "after")),
    ("GET", "/operator/sessions"): Route("page", once=("q", "after")),
    ("GET", "/operator/notifications"): Route("page", once=("outcome", "after")),
    ("GET", "/operator/audit"): Route("page", once=("q", "type", "from", "to", "after")),
    # Without an action it asks about nothing.
    ("GET", "/operator/change"): Route("page", once=("action", "target"), good=400),
    ("POST", "/operator/change"): Route(
        "page", needs=("action", "target"), refuses=(400, 404, 409), **OWN | {"most": 16_384}),
    ("GET", "/auth/verify"): Route("session", once=("redirect", "optional", "assertion"), good=204),
    ("GET", "/auth/forbidden"): Route("page", good=403),
    ("GET", "/oauth2/auth"): Route("session", once=("assertion",), good=202),
    ("GET", "/oauth2/sign_in"): Route(once=("rd",)),
    ("GET", "/oauth2/start"): Route(once=("rd",), good=303),
    ("GET", "/oauth2/sign_out"): Route(once=("rd",), good=303),
    ("GET", "/oauth2/userinfo"): Route("session"),
    ("GET", "/api/v1/session"): Route("session"),
    ("DELETE", "/api/v1/session"): Route("session", own_pages=True, good=204),
    ("GET", "/api/v1/session/assertion"): Route("session", once=("audience",)),
    ("DELETE", "/api/v1/account"): Route(
        "app", needs=("authorizationCode",), may=("identityToken", "nonce"), null=("identityToken", "nonce"),
        may_be_empty=True, good=202, **NATIVE, **API),
    ("POST", "/api/v1/native/challenge"): Route(may_be_empty=True, **NATIVE, **API),
    ("POST", "/api/v1/native/sessions"): Route(
        needs=("identityToken", "authorizationCode", "nonce"), may=("user",), null=("user",), **NATIVE, **API),
    ("POST", "/api/v1/links"): Route(
        "links", JSON, ("externalID", "kind", "displayName"), ("returnTo", "ticket"), null=("returnTo", "ticket"), most=16_384,
        good=201, **API),
    ("POST", "/api/v1/links/{id}/authorize"): Route(
        "secret", needs=("identityToken", "authorizationCode"), may=("user",), null=("user",), **NATIVE, **API),
    ("POST", "/api/v1/links/{id}/complete"): Route("links", JSON, ("code",), most=16_384, counted="code", **API),
    ("GET", "/oidc/authorize"): Route(good=400),
    ("GET", "/oidc/logout"): Route(good=303),
    **{("POST", f"/oidc/{name}"): Route(most=32_768, may_be_empty=True, twice=(303,), good=303, **OIDC)
       for name in ("authorize", "logout")},
    **{("POST", f"/oidc/{name}"): Route(most=16_384, refuses=(400, 401), twice=(400, 401), good=401, **OIDC)
       for name in ("token", "revoke", "device_authorization")},
    ("GET", "/device"): Route("page", once=("user_code",)),
    # What is no code leads to the page again: Tests/System/OpenID/test_device.py.
    ("POST", "/device"): Route("page", needs=("user_code",), refuses=(200, 400), **OWN | {"good": 200}),
    # From a page of ours, with an application: Tests/System/OpenID/test_local_programs.py.
    ("POST", "/oidc/consent"): Route(most=34_816, own_pages=True, twice=(400,), good=400, **OIDC),
    ("GET", "/oidc/userinfo"): Route(good=401),
    ("POST", "/oidc/userinfo"): Route(most=16_384, good=401),
    ("GET", "/.well-known/change-password"): Route(good=303),
    ("POST", "/api/v1/introspect"): Route(
        "introspect", FORM, ("token",), most=16_384, unknown=(200,), ignores_others=True, **API),
    ("GET", "/api/v1/users"): Route("users:read", once=("state", "group", "email", "name", "limit", "after", "cursor"), **API),
    ("GET", "/api/v1/users/{id}"): Route("users:read", **API),
    # A key that only writes reads nobody.
    ("PATCH", "/api/v1/users/{id}"): Route(
        "users:write", JSON, may=("externalID", "groups", "state"), null=("externalID",), most=16_384, good=204, **API),
    ("DELETE", "/api/v1/users/{id}"): Route("users:delete", good=202, **API),
    ("GET", "/api/v1/users/{id}/credential"): Route("users:read", **API),
    ("GET", "/api/v1/users/{id}/sessions"): Route("users:read", once=("limit", "after"), **API),
    ("DELETE", "/api/v1/users/{id}/sessions"): Route("users:write", once=("applications",), good=204, **API),
    ("DELETE", "/api/v1/users/{id}/sessions/{session}"): Route("users:write", good=204, **API),
    ("GET", "/api/v1/users/{id}/applications"): Route("users:read", **API),
    ("DELETE", "/api/v1/users/{id}/applications"): Route("users:write", good=204, **API),
    ("DELETE", "/api/v1/users/{id}/applications/{client}"): Route("users:write", good=204, **API),
    ("GET", "/api/v1/events"): Route("events:read", once=("user", "after", "limit"), **API),
    ("GET", "/api/v1/webhooks"): Route("webhooks:read", **API),
    ("GET", "/api/v1/webhooks/dead-letters"): Route("webhooks:read", once=("limit", "after"), **API),
    ("POST", "/api/v1/webhooks/retry"): Route("webhooks:write", JSON, ("endpoint",), most=16_384, unknown=(404,), **API),
    ("GET", "/api/v1/clients"): Route("clients:read", **API),
    ("GET", "/api/v1/clients/{id}"): Route("clients:read", **API),
    ("PUT", "/api/v1/clients/{id}"): Route(
        "clients:write", JSON, ("redirectURIs",), ("name", "groups"), most=16_384, **API),
    ("DELETE", "/api/v1/clients/{id}"): Route("clients:write", good=204, **API),
    ("POST", "/api/v1/clients/{id}/secret"): Route("clients:write", JSON, most=16_384, **API),
    ("POST", "/api/v1/webhooks/test"): Route("webhooks:write", JSON, ("endpoint",), most=16_384, unknown=(404,), **API),
}
ADMIN = {"/healthz", "/metrics", "/readyz"}
