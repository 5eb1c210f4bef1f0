"""The store: accounts, passwords, second factors, sessions and unfinished sign-ins. Nothing here knows HTTP."""

import contextlib
import hashlib
import os
import secrets
import sqlite3
import time
import unicodedata

import argon2
import pyotp

# Maximum age, in seconds, of a password sign-in that may change how the person signs in.
FRESH = 600
# Seconds a challenge waits for its code, and how many codes it accepts.
CHALLENGE_LIFE, CHALLENGE_TRIES = 600, 5
# Wrong passwords and codes allowed per name, and in how many seconds.
FAILURES, FAILURES_WITHIN = 10, 900
SESSION_LIFE = 14 * 86400
# Longer than a webhook may be late.
CONNECTION_LIFE = 30 * 86400
LONGEST_NAME, SHORTEST_PASSWORD, LONGEST_PASSWORD = 64, 10, 256

# KiB of memory for each hash. Lower it in tests only.
HASHER = argon2.PasswordHasher(memory_cost=int(os.environ.get("ACCOUNTS_HASH_MEMORY", argon2.DEFAULT_MEMORY_COST)))
# Compared for names without a password, so that they take as long.
NOBODYS = HASHER.hash(secrets.token_urlsafe())

SCHEMA = """
CREATE TABLE IF NOT EXISTS account (
    id TEXT PRIMARY KEY,      -- Bramley's external ID of the person
    name TEXT UNIQUE,         -- as typed; NULL if the account began with Apple
    password TEXT,            -- Argon2id; NULL: the account has no password
    password_number INTEGER NOT NULL DEFAULT 1,  -- another for each password that is set
    totp TEXT,                -- the second factor's shared secret
    totp_step INTEGER NOT NULL DEFAULT 0,  -- the newest code used: a code works once
    apple TEXT                -- Bramley's ID of the person
) STRICT;
CREATE TABLE IF NOT EXISTS session (
    hash BLOB PRIMARY KEY, account TEXT NOT NULL REFERENCES account ON DELETE CASCADE, made REAL NOT NULL,
    new_totp TEXT             -- a second factor that is being set up
) STRICT;
CREATE TABLE IF NOT EXISTS challenge (
    hash BLOB PRIMARY KEY, account TEXT NOT NULL REFERENCES account ON DELETE CASCADE, purpose TEXT NOT NULL,
    made REAL NOT NULL, tries INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS connection (
    link TEXT PRIMARY KEY, kind TEXT NOT NULL, account TEXT NOT NULL REFERENCES account ON DELETE CASCADE,
    owner BLOB NOT NULL,      -- the hash of the token, a session's or an extension's, that may complete it
    password_number INTEGER NOT NULL,  -- of the password that it replaces
    made REAL NOT NULL, code TEXT, done INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS failure (name BLOB NOT NULL, at REAL NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS failure_name ON failure (name, at);
"""


class TooMany(Exception):
    """Too many wrong passwords or codes for this name, whether the account exists or not."""


class NotTaken(Exception):
    """A name or password that cannot be used. The message is for the person."""


def folded(name: str) -> str:
    """One form of each name: case and composition make no difference."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).strip()


def digest(text: str) -> bytes:
    # For long random values, and for counting failures by name: neither needs a slow hash.
    return hashlib.sha256(text.encode()).digest()


class Accounts:
    """One connection to the database."""

    def __init__(self, path: str):
        # No implicit transactions: `transaction` begins them.
        self.database = sqlite3.connect(path, timeout=10, isolation_level=None)
        self.database.row_factory = sqlite3.Row
        self.database.execute("PRAGMA foreign_keys = ON")
        self.database.execute("PRAGMA synchronous = FULL")
        self.database.execute("PRAGMA secure_delete = ON")

    def create(self) -> None:
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.executescript(SCHEMA)

    def close(self) -> None:
        self.database.close()

    @contextlib.contextmanager
    def transaction(self):
        """All or nothing; no other connection writes meanwhile."""
        self.database.execute("BEGIN IMMEDIATE")
        try:
            yield self.database
        except BaseException:
            self.database.execute("ROLLBACK")
            raise
        self.database.execute("COMMIT")

    def row(self, sql: str, *values) -> sqlite3.Row | None:
        return self.database.execute(sql, values).fetchone()

    def account(self, identifier: str) -> sqlite3.Row | None:
        return self.row("SELECT * FROM account WHERE id = ?", identifier)

    # Passwords

    def sign_up(self, name: str, password: str) -> str:
        """Creates an account with a password and returns its ID."""
        name = folded(name)
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise NotTaken("Please choose a name of 1 to 64 characters.")
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            raise NotTaken(f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters.")
        identifier, hashed = "acc_" + secrets.token_hex(12), HASHER.hash(normal(password))
        try:
            self.database.execute(
                "INSERT INTO account (id, name, password) VALUES (?, ?, ?)", [identifier, name, hashed])
        except sqlite3.IntegrityError as error:
            raise NotTaken("This name is taken.") from error
        return identifier

    def check_password(self, name: str, password: str) -> sqlite3.Row | None:
        """The account if the password is right. Equally slow for an unknown name."""
        name, password = folded(name), normal(password[:LONGEST_PASSWORD + 1])
        with self.transaction():
            attempt = self.count_try(name)
        account = self.row("SELECT * FROM account WHERE name = ?", name)
        known = account["password"] if account else None
        try:
            HASHER.verify(known or NOBODYS, password)
        except argon2.exceptions.VerifyMismatchError:
            return None
        if known is None:
            return None
        # Rehash only the same password: one that was removed meanwhile stays removed.
        newer = HASHER.hash(password) if HASHER.check_needs_rehash(known) else known
        with self.transaction() as database:
            self.take_back_try(attempt)
            database.execute("UPDATE account SET password = ? WHERE id = ? AND password = ?", [newer, account["id"], known])
            # Read again: during the hashing, a second factor may have been set up or the password removed.
            return self.row("SELECT * FROM account WHERE id = ? AND password IS NOT NULL", account["id"])

    def count_try(self, name: str) -> int:
        """Counts a try. Call it in a transaction before the password or code is checked, so that simultaneous requests
        cannot exceed FAILURES. Pass the result to `take_back_try` if the try was right."""
        now = time.time()
        self.database.execute("DELETE FROM failure WHERE at <= ?", [now - FAILURES_WITHIN])
        if self.row("SELECT count(*) FROM failure WHERE name = ?", digest(name))[0] >= FAILURES:
            raise TooMany
        return self.database.execute("INSERT INTO failure (name, at) VALUES (?, ?)", [digest(name), now]).lastrowid

    def take_back_try(self, attempt: int) -> None:
        self.database.execute("DELETE FROM failure WHERE rowid = ?", [attempt])

    # The second factor

    def challenge(self, account: str, purpose: str) -> str:
        """A token for a right password that waits for its code. A new challenge replaces it."""
        token, now = secrets.token_urlsafe(32), time.time()
        with self.transaction() as database:
            # One at a time, so that challenges, and with them tries, cannot be collected.
            database.execute("DELETE FROM challenge WHERE made < ? OR (account = ? AND purpose = ?)",
                             [now - CHALLENGE_LIFE, account, purpose])
            database.execute("INSERT INTO challenge (hash, account, purpose, made) "
                             "SELECT ?, id, ?, ? FROM account WHERE id = ?", [digest(token), purpose, now, account])
        return token

    def answer(self, token: str, code: str, purpose: str) -> sqlite3.Row | None:
        """The account if the challenge is valid and the code is right. Each works once."""
        with self.transaction() as database:
            challenge = self.row(
                "SELECT * FROM challenge WHERE hash = ? AND purpose = ? AND made > ? AND tries < ?",
                digest(token), purpose, time.time() - CHALLENGE_LIFE, CHALLENGE_TRIES)
            if challenge is None:
                return None
            account = self.account(challenge["account"])
            # Counted with the name's passwords, before the code is checked: a challenge allows few tries, but the
            # password gives a new one each time.
            attempt = self.count_try(account["name"])
            database.execute("UPDATE challenge SET tries = tries + 1 WHERE hash = ?", [challenge["hash"]])
            # The account may have been converted since the password was checked.
            step = newer_step(account["totp"], code, account["totp_step"]) if account["totp"] else None
            if step is None:
                return None
            self.take_back_try(attempt)
            database.execute("DELETE FROM challenge WHERE hash = ?", [challenge["hash"]])
            database.execute("UPDATE account SET totp_step = ? WHERE id = ?", [step, account["id"]])
        return account

    def begin_second_factor(self, session: bytes) -> str:
        secret = pyotp.random_base32()
        self.database.execute("UPDATE session SET new_totp = ? WHERE hash = ?", [secret, session])
        return secret

    def confirm_second_factor(self, session: bytes, code: str) -> bool:
        """Activates the second factor that this session began. Returns whether it did."""
        with self.transaction() as database:
            begun = self.row("SELECT * FROM session WHERE hash = ?", session)
            step = newer_step(begun["new_totp"], code, 0) if begun and begun["new_totp"] else None
            if step is None:
                return False
            # Not for an account without a password, and never in place of an existing second factor.
            done = database.execute(
                "UPDATE account SET totp = ?, totp_step = ? WHERE id = ? AND password IS NOT NULL AND totp IS NULL",
                [begun["new_totp"], step, begun["account"]]).rowcount == 1
            database.execute("UPDATE session SET new_totp = NULL WHERE hash = ?", [session])
            if done:
                # The other sessions were made without a code.
                database.execute("DELETE FROM session WHERE account = ? AND hash != ?", [begun["account"], session])
        return done

    # Sessions

    def make_session(self, account: sqlite3.Row) -> str | None:
        """A new session's token, or None if the password was removed or a second factor set up since the password was
        checked."""
        token = secrets.token_urlsafe(32)
        with self.transaction() as database:
            database.execute("DELETE FROM session WHERE made < ?", [time.time() - SESSION_LIFE])
            made = database.execute(
                "INSERT INTO session (hash, account, made) "
                "SELECT ?, id, ? FROM account WHERE id = ? AND password IS NOT NULL AND totp IS ?",
                [digest(token), time.time(), account["id"], account["totp"]]).rowcount
        return token if made else None

    def session(self, token: str) -> sqlite3.Row | None:
        return self.row("SELECT * FROM session WHERE hash = ? AND made > ?", digest(token), time.time() - SESSION_LIFE)

    def end_session(self, session: bytes) -> None:
        self.database.execute("DELETE FROM session WHERE hash = ?", [session])

    # Connections to Apple

    def remember_link(self, link: str, kind: str, account: str, owner: str) -> None:
        """`owner`: the token of whoever may complete the link. Keep it secret: only its hash is stored."""
        with self.transaction() as database:
            database.execute("DELETE FROM connection WHERE made < ?", [time.time() - CONNECTION_LIFE])
            database.execute(
                "INSERT INTO connection (link, kind, account, owner, password_number, made) "
                "SELECT ?, ?, id, ?, password_number, ? FROM account WHERE id = ?",
                [link, kind, digest(owner), time.time(), account])

    def link(self, link: str, owner: str, code: str) -> sqlite3.Row | None:
        """The link, if this owner began it. Keeps its code: after a crash, the link is completed with it."""
        with self.transaction() as database:
            database.execute(
                "UPDATE connection SET code = coalesce(code, ?) WHERE link = ? AND owner = ?", [code, link, digest(owner)])
            return self.row("SELECT * FROM connection WHERE link = ? AND owner = ?", link, digest(owner))

    def unfinished(self, link: str) -> sqlite3.Row | None:
        """A link whose code we have, and that is not done here."""
        return self.row("SELECT * FROM connection WHERE link = ? AND code IS NOT NULL AND done = 0", link)

    def finish_link(self, link: sqlite3.Row, user: str) -> None:
        """The person can now sign in with Apple. An upgrade drops, once, the password that it was begun with."""
        with self.transaction() as database:
            done = database.execute("UPDATE connection SET done = 1 WHERE link = ? AND done = 0", [link["link"]]).rowcount
            if not done:
                return
            account = link["account"]
            database.execute("UPDATE account SET apple = ? WHERE id = ?", [user, account])
            if link["kind"] != "upgrade":
                return
            dropped = database.execute(
                "UPDATE account SET password = NULL, totp = NULL WHERE id = ? AND password IS NOT NULL "
                "AND password_number = ?", [account, link["password_number"]]).rowcount
            if dropped:
                database.execute("DELETE FROM challenge WHERE account = ?", [account])
                # Only the session that asked for it stays.
                database.execute("DELETE FROM session WHERE account = ? AND hash != ?", [account, link["owner"]])

    def came_by_apple(self, user: str) -> str:
        """Creates an account without a password, with Bramley's ID of the person as its ID. Idempotent."""
        self.database.execute("INSERT OR IGNORE INTO account (id, apple) VALUES (?, ?)", [user, user])
        return user

    def forget_apple(self, user: str) -> None:
        """Bramley deleted the person: deletes the account too if it has no password."""
        with self.transaction() as database:
            database.execute("DELETE FROM account WHERE apple = ? AND password IS NULL", [user])
            database.execute("UPDATE account SET apple = NULL WHERE apple = ?", [user])

def normal(password: str) -> str:
    """One encoding of each password: keyboards encode é differently (RFC 8265, OpaqueString)."""
    return unicodedata.normalize("NFC", password)


def newer_step(secret: str, code: str, used: int) -> int | None:
    """The time step of a valid code (RFC 6238), now or half a minute before or after, if it is newer than `used`."""
    now = int(time.time()) // 30
    codes = pyotp.HOTP(secret)
    return next((step for step in (now, now - 1, now + 1) if step > used and codes.verify(code.strip(), step)), None)
