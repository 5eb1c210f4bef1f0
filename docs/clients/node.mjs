import * as client from "openid-client";

const config = await client.discovery(new URL("https://id.example.com"), "node", process.env.CLIENT_SECRET);

// Keep verifier, state and nonce in the visitor's session.
export async function start(session) {
  session.verifier = client.randomPKCECodeVerifier();
  session.state = client.randomState();
  session.nonce = client.randomNonce();
  return client.buildAuthorizationUrl(config, {
    redirect_uri: "https://app.example.com/callback",
    scope: "openid profile email groups",
    code_challenge: await client.calculatePKCECodeChallenge(session.verifier),
    code_challenge_method: "S256",
    state: session.state,
    nonce: session.nonce,
  });
}

export async function finish(session, url) {
  const tokens = await client.authorizationCodeGrant(config, url, {
    pkceCodeVerifier: session.verifier,
    expectedState: session.state,
    expectedNonce: session.nonce,
  });
  return tokens.claims();
}
