// Who is signed in. Bramley is on the same origin, so the browser sends the session cookie, and no script can read it.

/** The person, or null. Throws if Bramley gives no usable answer. */
export async function signedInPerson() {
  const answer = await fetch("/api/v1/session", { headers: { accept: "application/json" }, cache: "no-store" });
  if (answer.ok) return (await answer.json()).user;
  if (answer.status === 401) return null;
  throw new Error(`the session: ${answer.status}`);
}

/** Ends this browser's session. */
export async function signOut() {
  const answer = await fetch("/api/v1/session", { method: "DELETE" });
  // 401: it had already ended.
  if (!answer.ok && answer.status !== 401) throw new Error(`signing out: ${answer.status}`);
}

/**
 * Tells the other pages of this origin that the person signed in or out. The message has no content: they ask Bramley.
 */
export const changes = new BroadcastChannel("session");
