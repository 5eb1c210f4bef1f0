// The one page of the application.

import { changes, signedInPerson, signOut } from "./session.js";

const state = document.querySelector("#state");
const signInButton = document.querySelector("#sign-in");
const signOutButton = document.querySelector("#sign-out");

/** The number of the latest request; answers to earlier ones are ignored. */
let latest = 0;

async function show() {
  const mine = ++latest;
  let person, text;
  try {
    person = await signedInPerson();
    text = person ? `Signed in as ${person.name.given ?? person.email ?? "somebody"}.` : "You are signed out.";
  } catch {
    text = "Signing in is not possible right now.";
  }
  if (mine !== latest) return;
  state.textContent = text;
  signInButton.hidden = Boolean(person);
  signOutButton.hidden = !person;
}

signInButton.addEventListener("click", () => {
  // Open it in the click handler: browsers block windows that open later.
  const popup = window.open("/login/apple?return_to=/signed-in.html", "sign-in", "popup,width=520,height=680");
  // Blocked: redirect the page itself.
  if (!popup) window.location.assign("/login/apple?return_to=/");
  // Do not use `popup` from here on: Cross-Origin-Opener-Policy separates the windows, and it then looks closed while
  // the person is still typing.
});

signOutButton.addEventListener("click", async () => {
  signOutButton.disabled = true;
  try {
    await signOut();
    changes.postMessage("changed");
  } finally {
    signOutButton.disabled = false;
    await show();
  }
});

changes.addEventListener("message", show);
// A session may also begin or end elsewhere, such as on another device.
window.addEventListener("focus", show);
window.addEventListener("pageshow", show);
