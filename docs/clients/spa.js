import { InMemoryWebStorage, UserManager, WebStorageStateStore } from "oidc-client-ts";

export const users = new UserManager({
  authority: "https://id.example.com",
  client_id: "spa",
  redirect_uri: "https://app.example.com/callback",
  post_logout_redirect_uri: "https://app.example.com/",
  scope: "openid profile email groups",
  userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
  automaticSilentRenew: false,
});

const here = () => location.pathname + location.search;
export const signIn = () => users.signinRedirect({ state: here() });
export const renew = () => users.signinRedirect({ prompt: "none", state: here() });

// When the page loads: who is signed in, or null.
export async function start() {
  if (location.pathname !== "/callback") return renew();
  try {
    const user = await users.signinRedirectCallback();
    history.replaceState(null, "", user.state);
    return user;
  } catch (failure) {
    history.replaceState(null, "", failure.state ?? "/");
    return null;
  }
}
