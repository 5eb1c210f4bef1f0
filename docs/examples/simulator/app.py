"""A website that signs people in with Apple, or with the simulated one: docs/reference/simulator.md."""

import os
import time

from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, request, session
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet
import requests

# The one line that knows whether this is Apple or the simulator.
APPLE = os.environ.get("APPLE", "https://appleid.apple.com")
ISSUER = "https://appleid.apple.com"
CLIENT_ID, APP_ID, TEAM_ID, KEY_ID = "com.example.web", "com.example.app", "TEAM123456", "KEY1234567"

app = Flask(__name__)
app.secret_key = os.urandom(32)
# Apple's answer is a POST from another site: a Lax cookie would stay behind.
app.config.update(SESSION_COOKIE_SAMESITE="None", SESSION_COOKIE_SECURE=True)


def client_secret() -> str:
    with open("AuthKey.p8") as file:
        key = ECKey.import_key(file.read())
    now = int(time.time())
    claims = {"iss": TEAM_ID, "sub": CLIENT_ID, "aud": ISSUER, "iat": now, "exp": now + 86_400}
    return jwt.encode({"alg": "ES256", "kid": KEY_ID}, claims, key)


apple = OAuth(app).register(
    "apple", client_id=CLIENT_ID, client_secret=client_secret(),
    server_metadata_url=f"{APPLE}/.well-known/openid-configuration",
    client_kwargs={"scope": "openid name email", "token_endpoint_auth_method": "client_secret_post"})


@app.get("/login")
def login():
    answer = apple.authorize_redirect("http://localhost:8080/apple/callback", response_mode="form_post")
    # Apple does not accept a plus sign as a space; many libraries send one.
    answer.location = answer.location.replace("+", "%20")
    return answer


@app.post("/apple/callback")
def callback():
    if "error" in request.form:
        return f"Apple says {request.form['error']}", 400
    claims = apple.authorize_access_token()["userinfo"]
    session.clear()
    session["who"] = {"sub": claims["sub"], "email": claims.get("email"), "user": request.form.get("user")}
    return redirect("/", 303)


@app.get("/")
def home():
    return session.get("who") or ("Nobody is signed in", 401)


heard = []


@app.post("/apple/notifications")
def notifications():
    keys = KeySet.import_key_set(requests.get(f"{APPLE}/auth/keys", timeout=10).json())
    token = jwt.decode(request.json["payload"], keys, algorithms=["RS256"])
    jwt.JWTClaimsRegistry(
        iss={"essential": True, "value": ISSUER}, aud={"essential": True, "values": [APP_ID, CLIENT_ID]},
    ).validate(token.claims)
    heard.append(token.claims["events"])
    return "", 200


@app.get("/apple/notifications")
def list_notifications():
    return heard


app.run(port=8080)
