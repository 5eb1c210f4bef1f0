// The store: all notes, and the webhooks already processed. One JSON file, replaced as a whole.

import { readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";

const THIRTY_DAYS = 30 * 86_400_000;

export class Notebook {
  #path;
  /** By Bramley's user id, the newest first. */
  #notes = {};
  /** When each webhook arrived, by its id. */
  #webhooks = {};
  /** Changes run one after the other. */
  #last = Promise.resolve();

  constructor(path) {
    this.#path = path;
    try {
      ({ notes: this.#notes, webhooks: this.#webhooks } = JSON.parse(readFileSync(path, "utf8")));
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }

  of(user) {
    return Object.hasOwn(this.#notes, user) ? this.#notes[user] : [];
  }

  add(user, text) {
    return this.#change(() => {
      this.#notes = { ...this.#notes, [user]: [text, ...this.of(user)] };
      return true;
    });
  }

  /**
   * Records a webhook and deletes the notes of `deletedUser`, if any: both or neither. A webhook repeats until our answer
   * has arrived; for a repeated one, this returns false and changes nothing.
   */
  take(id, deletedUser) {
    return this.#change(() => {
      if (Object.hasOwn(this.#webhooks, id)) return false;
      const oldest = Date.now() - THIRTY_DAYS;
      const recent = Object.entries(this.#webhooks).filter(([, time]) => time > oldest);
      this.#webhooks = Object.fromEntries([...recent, [id, Date.now()]]);
      if (deletedUser) {
        this.#notes = Object.fromEntries(Object.entries(this.#notes).filter(([user]) => user !== deletedUser));
      }
      return true;
    });
  }

  /** Makes a change durable, or undoes it and throws. */
  #change(make) {
    const run = async () => {
      const before = [this.#notes, this.#webhooks];
      if (!make()) return false;
      try {
        const file = await open(`${this.#path}.new`, "w", 0o600);
        try {
          await file.writeFile(JSON.stringify({ notes: this.#notes, webhooks: this.#webhooks }));
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(`${this.#path}.new`, this.#path);
      } catch (error) {
        [this.#notes, this.#webhooks] = before;
        throw error;
      }
      return true;
    };
    const result = this.#last.then(run);
    this.#last = result.catch(() => {});
    return result;
  }
}
