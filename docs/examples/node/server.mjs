// A notebook for each person who signs in. Bramley knows who they are; this application stores only notes.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

import { Notebook } from "./notebook.mjs";
import { NotGenuine, readSecrets, verify } from "./webhooks.mjs";

// The public addresses of this application and of Bramley. Never taken from a request: a client can send any Host.
const { NOTES_URL, SIGN_IN_URL } = process.env;
// Bramley's address as seen from this machine.
const { SIGN_IN_INTERNAL_URL } = process.env;
const webhookKeys = readSecrets(readFileSync(process.env.WEBHOOK_SECRET_FILE, "utf8"));
const notebook = new Notebook(process.env.NOTES_FILE);
const MAXIMUM_BODY = 65536;

/** An error response. */
class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

// Who is signed in

/** Who is signed in, or null. Asked for every request, so that a revoked session is refused at once. */
async function signedIn(request) {
  const { cookie } = request.headers;
  if (!cookie) return null;
  let answer;
  try {
    // All cookies, unchanged: two session cookies in one request are an attack, which Bramley detects.
    answer = await fetch(`${SIGN_IN_INTERNAL_URL}/api/v1/session`, {
      headers: { cookie }, redirect: "error", signal: AbortSignal.timeout(3000),
    });
    if (answer.status === 200) return (await answer.json()).user;
  } catch {
    throw new Refusal(503, "Signing in is not possible right now. Please try again in a moment.");
  }
  await answer.body?.cancel();
  if (answer.status === 401) return null;
  if (answer.status === 403) {
    throw new Refusal(403, "You are signed in, but your account is waiting for approval or is disabled.");
  }
  // Bramley gave no usable answer, so treat the visitor as signed out.
  throw new Refusal(503, "Signing in is not possible right now. Please try again in a moment.");
}

function loginAddress(returnTo) {
  return `${SIGN_IN_URL}/login?${new URLSearchParams({ return_to: returnTo })}`;
}

// The routes

async function home(request, response, url) {
  const user = await signedIn(request);
  const text = user ? await ownPage(user, url.searchParams.get("draft") ?? "") : signedOutPage(url);
  response.writeHead(200, { "content-type": "text/html; charset=utf-8", "cache-control": "private, no-store" });
  response.end(page(text));
}

async function add(request, response) {
  // SameSite=Lax does not stop other hosts of the same domain.
  if (request.headers.origin !== NOTES_URL) throw new Refusal(403, "This form came from another site.");
  const form = new URLSearchParams((await bodyOf(request)).toString("utf8"));
  const user = await signedIn(request);
  if (!user) return redirect(response, loginAddress(`${NOTES_URL}/`));
  const text = (form.get("text") ?? "").trim().slice(0, 1000);
  if (text) await notebook.add(user.id, text);
  redirect(response, "/");
}

/** Webhooks from Bramley. */
async function webhook(request, response) {
  const body = await bodyOf(request);
  let message;
  try {
    message = verify(body, request.headers, webhookKeys, Date.now() / 1000);
  } catch (error) {
    if (!(error instanceof NotGenuine || error instanceof SyntaxError)) throw error;
    console.log(`webhook refused: ${error.message}`);
    throw new Refusal(400, "The webhook is not valid.");
  }
  const { id, event } = message;
  const fresh = await notebook.take(id, event.type === "account.deleted" ? event.data.user : null);
  console.log(`webhook ${id} ${event.type}${fresh ? "" : " again"}`);
  // After anything but 2xx, Bramley tries again later.
  response.writeHead(204).end();
}

function redirect(response, location) {
  response.writeHead(303, { location }).end();
}

/** The raw body. */
async function bodyOf(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > MAXIMUM_BODY) throw new Refusal(413, "The request is too large.");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

// The pages

function escaped(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);
}

async function ownPage(user, draft) {
  // Stored by Bramley's id, which never changes. Name and address may change or be missing.
  const notes = notebook.of(user.id).map((note) => `<li>${escaped(note)}</li>`).join("");
  const logout = `${SIGN_IN_URL}/logout?${new URLSearchParams({ return_to: `${NOTES_URL}/` })}`;
  return `<p>These are the notes of <strong id="person">${escaped(user.name.given ?? user.email ?? "you")}</strong>.
  <a href="${escaped(SIGN_IN_URL)}/account">Your account</a> · <a id="sign-out" href="${escaped(logout)}">Sign out</a></p>
<form method="post" action="/notes">
  <input name="text" aria-label="A new note" maxlength="1000" value="${escaped(draft)}" required>
  <button>Save</button>
</form>
<ul id="notes">${notes}</ul>`;
}

function signedOutPage(url) {
  const here = NOTES_URL + url.pathname + url.search;
  return `<p>A notebook of your own.
  <a id="sign-in" href="${escaped(loginAddress(here))}">Sign in with Apple</a> to open it.</p>`;
}

function page(text) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Notes</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 4rem auto; padding: 0 1rem; }
</style>
<h1>Notes</h1>
${text}
`;
}

const routes = { "GET /": home, "POST /notes": add, "POST /webhooks": webhook };

createServer(async (request, response) => {
  try {
    // Only the path and query are used; the origin is a placeholder.
    if (!URL.canParse(request.url, "http://local")) throw new Refusal(400, "The address is not valid.");
    const url = new URL(request.url, "http://local");
    const route = routes[`${request.method} ${url.pathname}`];
    if (!route) throw new Refusal(404, "There is no such page.");
    await route(request, response, url);
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error);
    if (response.headersSent) return response.destroy();
    const status = error instanceof Refusal ? error.status : 500;
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
    response.end(error instanceof Refusal ? error.message : "Something went wrong.");
  }
}).listen(Number(process.env.PORT), process.env.HOST ?? "127.0.0.1");
