"""A program with Authlib, as its documentation has it."""

import contextlib
import threading

from authlib.integrations.flask_client import OAuth
from flask import Flask, jsonify, session, url_for
from werkzeug.serving import make_server

from party import register
from programs import free_port


@contextlib.contextmanager
def flask_program(site):
    """Authlib finds everything through the metadata; it verifies the ID token and its nonce, and uses PKCE."""
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    party = register(site, "flask", "--name", "Orchard Reports", redirect_uri=f"{origin}/callback")
    app = Flask("program")
    app.secret_key = "of a test"
    oauth = OAuth(app)
    oauth.register(
        "bramley", client_id=party.client_id, client_secret=party.secret,
        server_metadata_url=site.origin + "/.well-known/openid-configuration",
        client_kwargs={"scope": "openid profile email groups", "code_challenge_method": "S256"})

    @app.get("/")
    def home():
        return jsonify(session["user"]) if "user" in session else oauth.bramley.authorize_redirect(
            url_for("callback", _external=True))

    @app.get("/callback")
    def callback():
        token = oauth.bramley.authorize_access_token()
        session["user"] = {"id_token": token["userinfo"], "userinfo": oauth.bramley.userinfo(token=token)}
        return home()

    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield origin
    server.shutdown()
    thread.join()
