"""An application with its own passwords, which people can connect with Sign in with Apple, or replace with it."""

import logging
import os
import secrets
import time
from sqlite3 import Row
from urllib.parse import urlencode

from flask import Flask, abort, g, redirect, render_template, request

import upgrade
import webhooks
from accounts import FRESH, SESSION_LIFE, Accounts, NotTaken, TooMany
from bramley import Bramley, Problem, Unavailable

# The public addresses of this application and of Bramley. Never taken from a request: a client can send any Host.
HERE = os.environ["ACCOUNTS_URL"]
SIGN_IN = os.environ["SIGN_IN_URL"]
DATABASE = os.environ["ACCOUNTS_DATABASE"]


def read(variable: str) -> str:
    with open(os.environ[variable]) as file:
        return file.read()


bramley = Bramley(os.environ["SIGN_IN_INTERNAL_URL"], read("API_KEY_FILE").strip())
WEBHOOK_KEYS = webhooks.read_secrets(read("WEBHOOK_SECRET_FILE"))
SESSION = "__Host-accounts"

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 65536


# Who is signed in

@app.before_request
def look_up():
    g.account = g.session = g.person = g.token = None
    if request.endpoint == "static" or request.path.startswith("/upgrade") or request.endpoint == "webhook":
        return  # They use no cookie.
    # SameSite=Lax does not stop other hosts of the same domain, and no other site may sign a visitor in or up.
    if request.method == "POST" and request.headers.get("Origin") != HERE:
        abort(403, "This form came from another site.")
    if token := request.cookies.get(SESSION):
        g.token, g.session = token, accounts().session(token)
    if g.session:
        g.account = accounts().account(g.session["account"])
    elif request.endpoint in ("account", "new"):
        g.person = bramley.person(request.headers.get("Cookie"))
        # Only by the external ID: only Bramley knows whose Apple Account this is.
        if g.person and g.person["externalID"]:
            g.account = accounts().account(g.person["externalID"])


def is_fresh() -> bool:
    """Whether the person entered their password recently. Required to change how they sign in."""
    return g.session is not None and time.time() - g.session["made"] < FRESH


@app.errorhandler(Unavailable)
def unavailable(error):
    # A POST cannot be repeated by a link.
    return message_page(503, "This is not possible right now. Please try again in a moment.", again=request.method == "GET")


@app.errorhandler(Problem)
def problem(error):
    app.logger.warning("Bramley: %s", error)
    if error.code in ("user_pending", "user_disabled"):
        return message_page(403, "Your account is waiting for approval, or is disabled.")
    return unavailable(error)


# Signing up, in and out

@app.get("/")
def home():
    return redirect("/account" if g.account else "/sign-in", 303)


@app.route("/sign-up", methods=["GET", "POST"])
def sign_up():
    if request.method == "GET":
        return page("sign-up.html")
    try:
        account = accounts().sign_up(field("name"), field("password"))
    except NotTaken as reason:
        return page("sign-up.html", 400, problem=str(reason), name=field("name"))
    return signed_in(accounts().account(account))


@app.get("/sign-in")
def sign_in():
    # Bramley sends people here who say that they have an account (login.passwordURL). The ticket names the Apple
    # Account they came with; keep it until they are signed in.
    return sign_in_page(ticket=request.args.get("ticket", ""))


@app.post("/sign-in")
def check_password():
    try:
        account = accounts().check_password(field("name"), field("password"))
    except TooMany:
        return too_many_page()
    if account is None:
        return sign_in_page(401, "Name or password is wrong.", field("ticket"))
    if account["totp"]:
        return code_page(accounts().challenge(account["id"], "page"), field("ticket"))
    return signed_in(account, field("ticket"))


@app.post("/sign-in/code")
def check_code():
    try:
        account = accounts().answer(field("challenge"), field("code"), "page")
    except TooMany:
        return too_many_page()
    if account is None:
        return code_page(field("challenge"), field("ticket"), 401, "This code is wrong or already used.")
    return signed_in(account, field("ticket"))


def signed_in(account: Row, ticket: str = ""):
    """Creates a session and redirects: to Bramley with a ticket, otherwise to the account."""
    if g.session:
        accounts().end_session(g.session["hash"])
    token = accounts().make_session(account)
    if token is None:
        return sign_in_page(401, "Name or password is wrong.", ticket)
    if ticket:
        g.token, g.session, g.account = token, accounts().session(token), account
        # The password was right, so the person is signed in even if the link fails. The ticket can be tried again.
        answer = begin("link", ticket)
    else:
        answer = redirect("/account", 303)
    answer.set_cookie(SESSION, token, max_age=SESSION_LIFE, secure=True, httponly=True, samesite="Lax")
    return answer


@app.post("/sign-out")
def sign_out():
    if g.session:
        accounts().end_session(g.session["hash"])
    try:
        by_apple = bramley.person(request.headers.get("Cookie")) is not None
    except (Problem, Unavailable):
        by_apple = False
    # Bramley asks for confirmation and returns here.
    target = f"{SIGN_IN}/logout?" + urlencode({"return_to": f"{HERE}/"}) if by_apple else "/"
    answer = redirect(target, 303)
    answer.delete_cookie(SESSION, secure=True, httponly=True, samesite="Lax")
    return answer


# The account

@app.get("/account")
def account():
    if g.account:
        return account_page(said=request.args.get("done", ""))
    if g.person:
        return page("stranger.html")
    return redirect("/sign-in", 303)


@app.post("/account/new")
def new():
    """Creates an account without a password for a person who signed in with Apple."""
    if g.person and not g.account:
        # Bramley first. After a crash in between, the next try repeats both with the same ID.
        bramley.name_account(g.person["id"], g.person["id"])
        accounts().came_by_apple(g.person["id"])
    return redirect("/account", 303)


@app.post("/account/second-factor")
def begin_second_factor():
    if not is_fresh() or not g.account["password"] or g.account["totp"]:
        return redirect("/account", 303)
    return second_factor_page(accounts().begin_second_factor(g.session["hash"]))


@app.post("/account/second-factor/confirm")
def confirm_second_factor():
    if not is_fresh():
        return redirect("/account", 303)
    if accounts().confirm_second_factor(g.session["hash"], field("code")):
        return redirect("/account?done=second-factor", 303)
    # Read again: another tab may have been faster.
    account = accounts().account(g.account["id"])
    if account and account["totp"]:
        return message_page(409, "Your account already has a second factor. Nothing was changed.")
    if account and not account["password"]:
        return message_page(409, "Your account has no password any more, so it needs no code. Nothing was changed.")
    if account and g.session["new_totp"]:
        return second_factor_page(g.session["new_totp"], 400, "This code is wrong.")
    return redirect("/account", 303)


# Sign in with Apple for this account

@app.post("/account/connect")
def connect():
    """“Connect Apple”, and “Replace my password with Sign in with Apple”."""
    if not is_fresh() or not g.account["password"]:
        return redirect("/account", 303)
    kind = field("kind")
    if kind not in ("link", "upgrade"):
        abort(400)
    return begin(kind, field("ticket"))


def begin(kind: str, ticket: str):
    """Redirects to Bramley's page, which names this account and has Apple's button; on failure, offers another try."""
    try:
        link = new_link(g.account, kind, ticket)
    except (Problem, Unavailable) as reason:
        app.logger.warning("no link: %s", reason)
        return message_page(503, "You are signed in. Sign in with Apple is not reachable right now, and nothing was changed. "
                            "Please try again in a moment.", retry={"kind": kind, "ticket": ticket})
    accounts().remember_link(link["id"], kind, g.account["id"], g.token)
    return redirect(link["url"], 303)


def new_link(account: Row, kind: str, ticket: str = "") -> dict:
    # Shown on Bramley's page. At most 128 bytes.
    name = shortened(account["name"] or "Your account", 128)
    try:
        return bramley.begin_link(account["id"], kind, name, f"{HERE}/connected", ticket)
    except Problem as refusal:
        # Bramley ignores an expired ticket and refuses a malformed one, such as from a truncated address. Without a
        # ticket, Bramley asks Apple again.
        if not ticket or refusal.code != "invalid_request":
            raise
        return bramley.begin_link(account["id"], kind, name, f"{HERE}/connected", None)


def shortened(text: str, limit: int) -> str:
    """Cut to at most `limit` bytes of UTF-8, keeping characters whole."""
    whole = text.encode()
    return text if len(whole) <= limit else whole[:limit - 3].decode(errors="ignore") + "…"


@app.get("/connected")
def connected():
    """The return from Bramley. Nothing is connected until we complete the link, for the same user and session."""
    link, code = request.args.get("link", ""), request.args.get("code", "")
    # Only the session that began this link may complete it. This stops other people's links, and one's own from
    # another session or after signing out.
    begun = accounts().link(link, g.token, code) if g.session and code else None
    if begun is None:
        return message_page(403, "Nothing was changed. Please sign in, and start again from your account.")
    try:
        finish(begun)
    except Problem as refusal:
        app.logger.warning("link refused: %s", refusal)
        # `again` offers to reload the page: the same code gets the same answer.
        return message_page(503 if refusal.is_temporary else 409, words(refusal), again=refusal.is_temporary)
    return redirect("/account?done=" + begun["kind"], 303)


def finish(link: Row) -> None:
    """Completes the link, again if need be, and drops the password that it replaces.

    `complete` succeeds only while the person can sign in with Apple. Nothing is dropped without it.
    """
    accounts().finish_link(link, bramley.complete_link(link["link"], link["code"])["id"])


def words(refusal: Problem) -> str:
    match refusal.code:
        case "identity-linked-elsewhere":
            return "This Apple Account already opens another account. Nothing was changed."
        case "account-already-linked":
            return "Your account is already connected with another Apple Account. Nothing was changed."
        case _ if refusal.is_temporary:
            return "This is not possible right now. Please try again in a moment."
    return "This did not work, and nothing was changed. Please start again from your account."


# Replacing a saved password, from the app's extension

@app.post("/upgrade")
def begin_upgrade():
    asked = sent("name", "password")
    return upgrade_answer(*upgrade.password(accounts(), asked["name"], asked["password"]))


@app.post("/upgrade/code")
def check_upgrade_code():
    asked = sent("challenge", "code")
    return upgrade_answer(*upgrade.code(accounts(), asked["challenge"], asked["code"]))


def upgrade_answer(answer: dict, account: Row | None):
    """With what the extension needs for Apple's sheet, once password and code were right."""
    if account is None:
        return answer
    try:
        link = new_link(account, "upgrade")
    except (Problem, Unavailable) as reason:
        app.logger.warning("no link: %s", reason)
        return refused(503, "unavailable")
    token = secrets.token_urlsafe(32)
    accounts().remember_link(link["id"], "upgrade", account["id"], token)
    return answer | {"link": link["id"], "ticket": link["ticket"], "nonce": link["nonce"], "token": token}


@app.post("/upgrade/complete")
def complete_upgrade():
    """May be repeated until it is answered."""
    asked = sent("link", "token", "code")
    if not upgrade.are_text(*asked.values()):
        return refused(400, "invalid")
    begun = accounts().link(asked["link"], asked["token"], asked["code"])
    if begun is None:
        return refused(404, "unknown")
    try:
        finish(begun)
    except Problem as refusal:
        app.logger.warning("link refused: %s", refusal)
        return refused(503 if refusal.is_temporary else 409, refusal.code)
    except Unavailable as reason:
        app.logger.warning("link not completed: %s", reason)
        return refused(503, "unavailable")
    return {"result": "success"}


def sent(*names: str) -> dict:
    try:
        content = request.get_json()
    except RecursionError:
        abort(400)
    if not isinstance(content, dict) or set(content) != set(names):
        abort(400)
    return content


def refused(status: int, code: str):
    return {"status": status, "code": code}, status


# Requests from Bramley

@app.post("/webhooks")
def webhook():
    message, event = genuine(WEBHOOK_KEYS)
    match event:
        case {"type": "account.deleted", "data": {"user": str(user)}}:
            # May arrive twice.
            accounts().forget_apple(user)
        case {"type": "account.linked" | "account.upgraded", "data": {"link": str(link), "user": str(user)}}:
            # Usually done already. After a crash, or when the answer to `complete` was lost, this continues.
            if begun := accounts().unfinished(link):
                go_on(begun, user)
        case {"type": "account.deleted" | "account.linked" | "account.upgraded"}:
            abort(400)
        case {"type": str()}:
            pass
        case _:
            abort(400)
    return "", 204


def go_on(link: Row, user: str) -> None:
    try:
        finish(link)
    except Unavailable:
        # The webhook is sent again.
        abort(503)
    except Problem as refusal:
        if refusal.is_temporary:
            abort(503)
        # Bramley forgets a link after a day. Then the user's state says whether they can sign in with Apple.
        if refusal.code == "link_unknown" and bramley.opens(user, link["account"]):
            accounts().finish_link(link, user)
        else:
            app.logger.warning("link not finished: %s", refusal)


def genuine(keys: list[bytes]) -> tuple[str, dict]:
    try:
        message, content = webhooks.verify(request.get_data(), request.headers, keys, time.time())
    except (webhooks.NotGenuine, ValueError, RecursionError) as error:
        app.logger.warning("refused: %s", error if isinstance(error, webhooks.NotGenuine) else "no JSON")
        abort(400)
    return message, content


# Pages

def field(name: str) -> str:
    return request.form.get(name, "")


def page(template: str, status: int = 200, **values):
    return app.make_response((render_template(template, **values), status))


def message_page(status: int, text: str, **more):
    return page("message.html", status, text=text, **more)


def sign_in_page(status: int = 200, problem: str = "", ticket: str = ""):
    return page("sign-in.html", status, problem=problem, ticket=ticket, name=field("name"),
                apple=f"{SIGN_IN}/login?" + urlencode({"return_to": f"{HERE}/account"}))


def too_many_page():
    return sign_in_page(429, "Too many attempts. Please wait a quarter of an hour.", field("ticket"))


def code_page(challenge: str, ticket: str, status: int = 200, problem: str = ""):
    return page("code.html", status, challenge=challenge, ticket=ticket, problem=problem)


def second_factor_page(secret: str, status: int = 200, problem: str = ""):
    return page("second-factor.html", status, secret=secret, problem=problem)


def account_page(said: str):
    given = g.person["name"]["given"] if g.person else None
    return page("account.html", account=g.account, person=g.account["name"] or given or "you", fresh=is_fresh(),
                said=said, bramley_account=f"{SIGN_IN}/account" if g.person else None)


@app.after_request
def protect(answer):
    answer.headers["Cache-Control"] = "private, no-store"
    answer.headers["Content-Security-Policy"] = (
        f"default-src 'none'; style-src 'self'; img-src data:; form-action 'self' {SIGN_IN}; base-uri 'none'; "
        "frame-ancestors 'none'")
    # Our forms send their origin, and no other site learns the address of /connected.
    answer.headers["Referrer-Policy"] = "same-origin"
    answer.headers["X-Content-Type-Options"] = "nosniff"
    # The route, not the address: that of /connected holds a code, that of /sign-in a ticket.
    app.logger.info("%s %s %d", request.method, request.url_rule or "nothing of ours", answer.status_code)
    return answer


# Storage

def accounts() -> Accounts:
    if "accounts" not in g:
        g.accounts = Accounts(DATABASE)
    return g.accounts


@app.teardown_appcontext
def close_database(_):
    if "accounts" in g:
        g.accounts.close()


first = Accounts(DATABASE)
first.create()
first.close()
app.logger.setLevel("INFO")
# Flask's development server would log every address.
logging.getLogger("werkzeug").setLevel("ERROR")
