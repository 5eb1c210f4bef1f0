// As much of oidc-client-ts as docs/clients/spa.js uses; test_spa.py says how to take the library itself.

export class InMemoryWebStorage {}
export class WebStorageStateStore {}

const text = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/=/g, "").replace(/\+/g, "-").replace(/\//g, "_");
const random = () => text(crypto.getRandomValues(new Uint8Array(32)));

export class UserManager {
  constructor(settings) {
    this.settings = settings;
  }

  async metadata() {
    return (await fetch(`${this.settings.authority}/.well-known/openid-configuration`)).json();
  }

  async signinRedirect({ prompt, state }) {
    const { client_id, redirect_uri, scope } = this.settings;
    const [id, verifier] = [random(), random()];
    localStorage.setItem(id, JSON.stringify({ verifier, state }));
    const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    const wanted = {
      response_type: "code", client_id, redirect_uri, scope, state: id, code_challenge: text(hash),
      code_challenge_method: "S256", ...(prompt && { prompt }),
    };
    location.assign(`${(await this.metadata()).authorization_endpoint}?${new URLSearchParams(wanted)}`);
    await new Promise(() => {});
  }

  async signinRedirectCallback() {
    const answer = new URLSearchParams(location.search);
    const { verifier, state } = JSON.parse(localStorage.getItem(answer.get("state")));
    localStorage.removeItem(answer.get("state"));
    const error = answer.get("error");
    if (error) throw Object.assign(new Error(error), { error, state });
    const { client_id, redirect_uri } = this.settings;
    const form = {
      grant_type: "authorization_code", code: answer.get("code"), code_verifier: verifier, client_id, redirect_uri,
    };
    const tokens = await (await fetch(
      (await this.metadata()).token_endpoint, { method: "POST", body: new URLSearchParams(form) })).json();
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(
      atob(tokens.id_token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0))));
    return { ...tokens, profile: claims, state };
  }
}
