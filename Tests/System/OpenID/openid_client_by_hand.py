"""openid-client with the code of docs/clients/node.mjs. Its source is in no package of Debian or PyPI. By hand:

    pip install deno
    git clone https://github.com/panva/openid-client, …/oauth4webapi and …/jose into one folder
    OPENID_CLIENT=that/folder pytest Tests/System/OpenID/openid_client_by_hand.py
"""

import json
import os

from others import Walk, recipe
from party import register_here

SERVE = """
const session = {};
Deno.serve({ port: PORT, hostname: "127.0.0.1" }, async (request) => {
  const url = new URL(request.url);
  if (url.pathname === "/") return Response.redirect((await start(session)).href, 302);
  return Response.json(await finish(session, url));
});
"""


def test_openid_client_signs_somebody_in(site, tmp_path, run):
    sources, (party, port, origin) = os.environ["OPENID_CLIENT"], register_here(site, "node", "/callback")
    code = recipe("node.mjs", "js", {
        "https://id.example.com": site.origin, "https://app.example.com": origin,
        # A test is on http.
        "process.env.CLIENT_SECRET)": f'"{party.secret}", undefined, {{ execute: [client.allowInsecureRequests] }})'})
    (tmp_path / "program.js").write_text(code + SERVE.replace("PORT", str(port)))
    (tmp_path / "deno.json").write_text(json.dumps({"imports": {
        "openid-client": f"{sources}/openid-client/src/index.ts", "oauth4webapi": f"{sources}/oauth4webapi/src/index.ts",
        "jose/jwe/compact/decrypt": f"{sources}/jose/src/jwe/compact/decrypt.ts",
        "jose/errors": f"{sources}/jose/src/util/errors.ts"}}))
    run(port, "deno", "run", "--no-check", "--unstable-sloppy-imports", "--allow-net", "--allow-env", "--allow-read",
        "--config", tmp_path / "deno.json", tmp_path / "program.js")
    walk = Walk(site, origin)
    claims = walk.opens("/").json()
    assert claims["sub"] == walk.browser.user() and claims["name"] == "Ada Byron"
