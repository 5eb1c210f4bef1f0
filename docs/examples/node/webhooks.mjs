// Verifies webhooks by the Standard Webhooks specification, without packages.

import { createHmac, timingSafeEqual } from "node:crypto";

/** Maximum difference between the sender's clock and ours, in seconds. Older webhooks may be replayed recordings. */
const TOLERANCE = 300;

/** The webhook is not from the sender, or not recent. */
export class NotGenuine extends Error {}

/** The keys of a file with one `whsec_…` per line. It has two while one replaces the other. */
export function readSecrets(text) {
  const lines = text.split(/\s+/).filter(Boolean);
  if (lines.length === 0) throw new Error("there is no secret");
  return lines.map((line) => {
    const match = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(line);
    if (!match) throw new Error("a line is no whsec_ and base64");
    return Buffer.from(match[1], "base64");
  });
}

/**
 * Returns the webhook's id, the same at every attempt, and the event.
 * `body` is the raw content: parsed and rewritten JSON has another signature.
 */
export function verify(body, headers, keys, now) {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  const signatures = (headers["webhook-signature"] ?? "").split(" ").filter(Boolean);
  if (!id || !/^[0-9]{1,12}$/.test(timestamp) || signatures.length === 0) throw new NotGenuine("a header is missing");
  if (Math.abs(now - Number(timestamp)) > TOLERANCE) throw new NotGenuine("too old, or from the future");
  const expected = keys.map((key) =>
    Buffer.from("v1," + createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")));
  // In constant time.
  const fits = signatures.some((signature) => {
    const given = Buffer.from(signature);
    return expected.some((wanted) => given.length === wanted.length && timingSafeEqual(given, wanted));
  });
  if (!fits) throw new NotGenuine("no signature fits");
  return { id, event: JSON.parse(body.toString("utf8")) };
}
