"""A program with Authlib, as its documentation has it. It ends its sessions when a logout token says so."""

import contextlib
import threading
from urllib.parse import urlencode

import requests
from authlib.integrations.flask_client import OAuth
from flask import Flask, jsonify, redirect, request, session, url_for
from joserfc import jwt
from joserfc.jwk import KeySet
from werkzeug.serving import make_server

from party import register
from patience import PATIENCE
from programs import free_port


@contextlib.contextmanager
def flask_program(site, client_id: str = "flask", name: str = "Orchard Reports"):
    """Authlib finds everything through the metadata; it verifies the ID token and its nonce, and uses PKCE."""
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    party = register(
        site, client_id, "--name", name, "--logout-uri", f"{origin}/bye", "--back-channel-logout-uri",
        f"{origin}/signed-out",
        redirect_uri=f"{origin}/callback")
    ended = set()
    app = Flask("program")
    app.secret_key = "of a test"
    # Cookies know no ports.
    app.config["SESSION_COOKIE_NAME"] = client_id
    oauth = OAuth(app)
    oauth.register(
        "bramley", client_id=party.client_id, client_secret=party.secret,
        server_metadata_url=site.origin + "/.well-known/openid-configuration",
        client_kwargs={"scope": "openid profile email groups", "code_challenge_method": "S256"})

    @app.get("/")
    def home():
        if "user" in session and session["user"]["id_token"]["sid"] not in ended:
            return jsonify(session["user"])
        return oauth.bramley.authorize_redirect(url_for("callback", _external=True))

    @app.get("/callback")
    def callback():
        token = oauth.bramley.authorize_access_token()
        session["user"] = {"id_token": token["userinfo"], "userinfo": oauth.bramley.userinfo(token=token)}
        session["hint"] = token["id_token"]
        return home()

    @app.get("/sign-out")
    def sign_out():
        """Here alone."""
        session.clear()
        return "Signed out here"

    @app.get("/sign-out-everywhere")
    def sign_out_everywhere():
        hint = session.pop("hint")
        session.clear()
        return redirect(f"{site.origin}/oidc/logout?" + urlencode(
            {"id_token_hint": hint, "post_logout_redirect_uri": f"{origin}/bye"}))

    @app.get("/bye")
    def bye():
        return "Signed out everywhere"

    @app.post("/signed-out")
    def signed_out():
        keys = KeySet.import_key_set(requests.get(f"{site.origin}/.well-known/jwks.json", timeout=PATIENCE).json())
        token = jwt.decode(request.form["logout_token"], keys, algorithms=["RS256"])
        assert token.header["typ"] == "logout+jwt" and token.claims["aud"] == client_id
        ended.add(token.claims["sid"])
        return "", 204

    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield origin
    server.shutdown()
    thread.join()
