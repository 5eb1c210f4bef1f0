// The one page of the application.

import { changes, signedInPerson, signOut } from "./session.js";

const state = document.querySelector("#state");
const signInButton = document.querySelector("#sign-in");
const signOutButton = document.querySelector("#sign-out");

/** The newest question to Bramley: the answers to older ones are dropped. */
let question = 0;

async function show() {
  const mine = ++question;
  let person, text;
  try {
    person = await signedInPerson();
    text = person ? `Signed in as ${person.name.given ?? person.email ?? "somebody"}.` : "You are signed out.";
  } catch {
    text = "Who is signed in cannot be said just now.";
  }
  if (mine !== question) return;
  state.textContent = text;
  signInButton.hidden = Boolean(person);
  signOutButton.hidden = !person;
}

signInButton.addEventListener("click", () => {
  // In the click itself: browsers block windows that open later by themselves.
  const popup = window.open("/login/apple?return_to=/signed-in.html", "sign-in", "popup,width=520,height=680");
  // Blocked: the whole page goes, and comes back.
  if (!popup) window.location.assign("/login/apple?return_to=/");
  // Nothing is asked of `popup` from here on. Bramley's pages, and Apple's, may cut the tie between the two windows
  // (Cross-Origin-Opener-Policy): it then looks closed while the person is still typing.
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
// A session may end, or begin, without a word to this page: on another device, or in a window that could not tell.
window.addEventListener("focus", show);
window.addEventListener("pageshow", show);
