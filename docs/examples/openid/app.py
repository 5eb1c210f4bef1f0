"""A reading list that signs people in by OpenID Connect. It has its own sessions, and ends them when Bramley says so."""

import os
import sqlite3
import time
from urllib.parse import urlencode

from authlib.integrations.flask_client import OAuth, OAuthError
from flask import Flask, redirect, render_template, request, session
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

# The public addresses of this application and of Bramley.
HERE = os.environ["PROGRAM_URL"]
ISSUER = os.environ["ISSUER"]
CLIENT_ID = os.environ["CLIENT_ID"]
DATABASE = os.environ["PROGRAM_DATABASE"]
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"


def private_line(variable: str) -> str:
    with open(os.environ[variable]) as file:
        return file.read().strip()


app = Flask(__name__)
app.secret_key = private_line("COOKIE_KEY_FILE")
# A name of its own, because cookies ignore ports. Not readable by scripts, not sent with posts from other sites.
app.config.update(SESSION_COOKIE_NAME="reading-list", SESSION_COOKIE_HTTPONLY=True, SESSION_COOKIE_SAMESITE="Lax",
                  SESSION_COOKIE_SECURE=HERE.startswith("https://"), MAX_CONTENT_LENGTH=65536)
bramley = OAuth(app).register(
    "bramley", client_id=CLIENT_ID, client_secret=private_line("CLIENT_SECRET_FILE"),
    server_metadata_url=f"{ISSUER}/.well-known/openid-configuration",
    client_kwargs={"scope": "openid profile email groups", "code_challenge_method": "S256"})


def database() -> sqlite3.Connection:
    connection = sqlite3.connect(DATABASE)
    connection.execute("CREATE TABLE IF NOT EXISTS ended (sid TEXT PRIMARY KEY, time INTEGER NOT NULL)")
    return connection


# Who is signed in

@app.get("/")
def home():
    person = session.get("person")
    if person:
        with database() as connection:
            ended = connection.execute("SELECT 1 FROM ended WHERE sid = ?", (person["sid"],)).fetchone()
        if ended:
            session.clear()
            person = None
    return render_template("home.html", person=person, failure=request.args.get("failure"))


@app.get("/sign-in")
def sign_in():
    # Authlib creates state, nonce and the PKCE verifier, and keeps them in the session.
    return bramley.authorize_redirect(f"{HERE}/callback")


@app.get("/callback")
def callback():
    try:
        # Redeems the code, and verifies the ID token: signature, issuer, audience, times and nonce.
        token = bramley.authorize_access_token()
    except OAuthError as error:
        # Such as access_denied, when the person cancels at Apple.
        return redirect(f"/?{urlencode({'failure': error.error})}")
    claims = token["userinfo"]
    session.clear()
    # Store data by `sub`, which never changes. Name and address may change or be missing.
    session["person"] = {name: claims.get(name) for name in ("sub", "sid", "name", "given_name", "email")}
    session["id_token"] = token["id_token"]
    return redirect("/")


# Signing out

@app.post("/sign-out")
def sign_out():
    """Signs out here and at Bramley, which then notifies the other applications."""
    hint = session.get("id_token")
    session.clear()
    if not hint:
        return redirect("/")
    end = bramley.load_server_metadata()["end_session_endpoint"]
    return redirect(f"{end}?{urlencode({'id_token_hint': hint, 'post_logout_redirect_uri': f'{HERE}/'})}", 303)


@app.post("/backchannel-logout")
def signed_out_elsewhere():
    """Bramley posts a logout token when a session has ended (OpenID Connect Back-Channel Logout)."""
    try:
        keys = KeySet.import_key_set(bramley.fetch_jwk_set(force=True))
        token = jwt.decode(request.form.get("logout_token", ""), keys, algorithms=["RS256"])
        jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": ISSUER}, aud={"essential": True, "value": CLIENT_ID},
            exp={"essential": True}, iat={"essential": True}, sid={"essential": True}).validate(token.claims)
    except (JoseError, ValueError):
        return "The logout token is not valid.", 400
    # An ID token is not a logout token.
    if token.header.get("typ") != "logout+jwt" or LOGOUT_EVENT not in token.claims.get("events", {}):
        return "The token is not a logout token.", 400
    with database() as connection:
        connection.execute(
            "INSERT OR IGNORE INTO ended (sid, time) VALUES (?, ?)", (token.claims["sid"], int(time.time())))
    return "", 204
