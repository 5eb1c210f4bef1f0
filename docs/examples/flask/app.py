"""A notebook for each person who signs in. Bramley knows who they are; this application stores only notes."""

import json
import os
import sqlite3
import time
import urllib.error
import urllib.request
from urllib.parse import urlencode

from flask import Flask, abort, g, redirect, render_template, request

import webhooks

# The public addresses of this application and of Bramley. Never taken from a request: a client can send any Host.
NOTES = os.environ["NOTES_URL"]
SIGN_IN = os.environ["SIGN_IN_URL"]
# Bramley's address as seen from this machine.
ASK = os.environ["SIGN_IN_INTERNAL_URL"]
DATABASE = os.environ["NOTES_DATABASE"]
with open(os.environ["WEBHOOK_SECRET_FILE"]) as file:
    WEBHOOK_KEYS = webhooks.read_secrets(file.read())

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 65536


# Who is signed in

def session() -> dict | None:
    """Who is signed in, or None. Asked for every request, so that a revoked session is refused at once."""
    cookies = request.headers.get("Cookie")
    if not cookies:
        return None
    # All cookies, unchanged: two session cookies in one request are an attack, which Bramley detects.
    question = urllib.request.Request(f"{ASK}/api/v1/session", headers={"Cookie": cookies})
    try:
        with urllib.request.urlopen(question, timeout=3) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 401:
            return None
        if error.code == 403:
            abort(403, "You are signed in, but your account is waiting for approval or is disabled.")
        raise Unknown from error
    except (OSError, ValueError) as error:
        raise Unknown from error


class Unknown(Exception):
    """Bramley gave no usable answer, so treat the visitor as signed out."""


@app.errorhandler(Unknown)
def unknown(error):
    return "Signing in is not possible right now. Please try again in a moment.", 503, {"Retry-After": "5"}


@app.before_request
def look_up():
    g.user = None
    if request.endpoint in ("home", "add"):
        found = session()
        g.user = found["user"] if found else None


# The pages

@app.get("/")
def home():
    notes = []
    if g.user:
        # Stored by Bramley's id, which never changes. Name and address may change or be missing.
        rows = database().execute("SELECT text FROM note WHERE user = ? ORDER BY rowid DESC", [g.user["id"]])
        notes = [row[0] for row in rows]
    here = NOTES + request.full_path.removesuffix("?")
    page = render_template(
        "notes.html", user=g.user, notes=notes, draft=request.args.get("draft", ""),
        login=f"{SIGN_IN}/login?" + urlencode({"return_to": here}),
        logout=f"{SIGN_IN}/logout?" + urlencode({"return_to": f"{NOTES}/"}), account=f"{SIGN_IN}/account")
    return page, {"Cache-Control": "private, no-store"}


@app.post("/notes")
def add():
    # SameSite=Lax does not stop other hosts of the same domain.
    if request.headers.get("Origin") != NOTES:
        abort(403, "This form came from another site.")
    if not g.user:
        return redirect(f"{SIGN_IN}/login?" + urlencode({"return_to": f"{NOTES}/"}), 303)
    text = request.form.get("text", "").strip()[:1000]
    if text:
        with database() as transaction:
            transaction.execute("INSERT INTO note (user, text) VALUES (?, ?)", [g.user["id"], text])
    return redirect("/", 303)


# Webhooks from Bramley

@app.post("/webhooks")
def webhook():
    try:
        identifier, event = webhooks.verify(request.get_data(), request.headers, WEBHOOK_KEYS, time.time())
    except (webhooks.NotGenuine, ValueError) as error:
        app.logger.warning("webhook refused: %s", error)
        abort(400)
    with database() as transaction:
        # A webhook repeats until our answer has arrived. Recording it and applying it are one transaction.
        transaction.execute("DELETE FROM webhook WHERE received < ?", [time.time() - 30 * 86400])
        fresh = transaction.execute(
            "INSERT OR IGNORE INTO webhook (id, received) VALUES (?, ?)", [identifier, time.time()]).rowcount
        if fresh and event["type"] == "account.deleted":
            transaction.execute("DELETE FROM note WHERE user = ?", [event["data"]["user"]])
    app.logger.info("webhook %s %s%s", identifier, event["type"], "" if fresh else " again")
    # After anything but 2xx, Bramley tries again later.
    return "", 204


# Storage

def database() -> sqlite3.Connection:
    if "database" not in g:
        g.database = sqlite3.connect(DATABASE)
    return g.database


@app.teardown_appcontext
def close_database(_):
    if "database" in g:
        g.database.close()


with sqlite3.connect(DATABASE) as first:
    first.execute("CREATE TABLE IF NOT EXISTS note (user TEXT NOT NULL, text TEXT NOT NULL)")
    first.execute("CREATE TABLE IF NOT EXISTS webhook (id TEXT PRIMARY KEY, received REAL NOT NULL)")
app.logger.setLevel("INFO")
