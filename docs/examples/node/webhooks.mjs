// Whether a webhook is genuine, by the Standard Webhooks conventions. Nothing but Node itself.

import { createHmac, timingSafeEqual } from "node:crypto";

/** How far the sender's clock and ours may be apart, in seconds. An older webhook is somebody's recording. */
const TOLERANCE = 300;

/** The webhook is not the sender's, or not of today. */
export class NotGenuine extends Error {}

/** The keys of a file with one `whsec_…` a line. There are two while one replaces the other. */
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
 * The webhook's id, which is the same on every attempt, and the event.
 * `body` is what came, byte for byte: JSON that was parsed and written again has another signature.
 */
export function verify(body, headers, keys, now) {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  const signatures = (headers["webhook-signature"] ?? "").split(" ").filter(Boolean);
  if (!id || !/^[0-9]{1,12}$/.test(timestamp) || signatures.length === 0) throw new NotGenuine("a header is missing");
  if (Math.abs(now - Number(timestamp)) > TOLERANCE) throw new NotGenuine("too old, or from the future");
  const expected = keys.map((key) =>
    Buffer.from("v1," + createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")));
  // Each is compared in a time that says nothing about where they differ.
  const fits = signatures.some((signature) => {
    const given = Buffer.from(signature);
    return expected.some((wanted) => given.length === wanted.length && timingSafeEqual(given, wanted));
  });
  if (!fits) throw new NotGenuine("no signature fits");
  return { id, event: JSON.parse(body.toString("utf8")) };
}
