"""Where the documents' commands are run: a server with the simulated Apple, people, and what files they name."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pexpect

from documents import ROOT, fences
from patience import PATIENCE, eventually
from processes import finished, output
from programs import KEY_ID, SERVICES_ID, TEAM_ID, Site, write_private
from web import SESSION, Answer, Browser, bearer, call, new_address

NEW_TEAM, NEW_KEY = "TEAM654321", "NEWKEY1234"
APP_ID = "com.example.app"
SCOPES = "introspect,users:read,users:write,users:delete,events:read,webhooks:read,webhooks:write,links"
SUBJECT = "001234.0123456789abcdef0123456789abcdef.0001"


class Stage:
    """One server for many lines. What a line changes, the next one finds."""

    def __init__(self, binaries: Path, folder: Path, settings: dict):
        folder.mkdir(mode=0o700, exist_ok=True)
        self.folder, self.binaries = folder, binaries
        write_private(folder / "webhook.secret", b"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n")
        self.site = Site(binaries, folder, {
            "apple.bundleIDs": [APP_ID], "server.trustedProxies": ["127.0.0.1"], "log.level": "info",
            "assertion.audience": "https://api.example.com", "login.allowedReturnOrigins": ["https://www.example.com"],
            "webhooks.secretFile": "webhook.secret",
            # `bramley check` renders every page in every language, and a debug build takes seconds for all.
            "pages.locales": ["en"],
            # Nobody listens there: what is sent waits.
            "webhooks.url": ["http://127.0.0.1:9/events"], **settings})
        # The configuration's paths begin where the commands are run.
        self.site.start = self.start
        self.admin_port = self.site.admin_port
        self.others = 0
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAMLEY_")}
        self.make_files()
        self.start()

    def start(self) -> None:
        with contextlib.chdir(self.folder):
            Site.start(self.site)

    def make_files(self) -> None:
        """What somebody has who has come this far in the documents."""
        programs = self.folder / "bin"
        programs.mkdir()
        for name in ("bramley", "apple-simulator", "http-echo"):
            (programs / name).symlink_to(self.binaries / name)
        # A database of the reader's own.
        stand_in = programs / "psql"
        stand_in.write_text("#!/bin/sh\necho '{\"appleSubject\":\"001234.psql\",\"externalID\":\"crm-psql\"}'\n")
        stand_in.chmod(0o755)
        self.environment["PATH"] = ":".join(
            [str(programs), str(Path(sys.executable).parent), self.environment["PATH"], "/usr/sbin"])
        (self.folder / "backups").mkdir()
        shutil.copy(self.folder / "AuthKey.p8", self.folder / "AuthKey_F6G7H8I9J0.p8")
        (self.folder / "docs").symlink_to(ROOT / "docs")
        # The one line of docs/operate/import.md, as it stands there.
        line = re.search(r"```json\n(.*?)```", (ROOT / "docs/operate/import.md").read_text(), re.DOTALL)[1]
        write_private(self.folder / "people.jsonl", line.replace("…", "0123456789").encode())

    def call(self, method: str, path: str, cookie: str | None = None, headers: dict | None = None, body=None) -> Answer:
        """As the person with this session, from an address of their own."""
        own = {"Cookie": f"{SESSION}={cookie}"} if cookie else {}
        return call(self.site, method, path, new_address() | own | (headers or {}), body)

    def someone(self) -> dict:
        """Somebody new who has just signed in: `user` and `session` as the API tells them, and `cookie`."""
        self.others += 1
        name = f"reader{self.others}"
        self.site.apple.add_person(name, "Ann", "Lee")
        browser = Browser(self.site, new_address())
        cookie = browser.sign_in(name)
        return browser.session() | {"cookie": cookie, "person": name}

    def bramley(self, *arguments: str, **options) -> str:
        return output(self.binaries / "bramley", *arguments, cwd=self.folder, env=self.environment, **options)

    def key(self) -> str:
        return self.bramley("api-keys", "create", "reader", "--scopes", SCOPES).strip()

    def key_id(self) -> str:
        return json.loads(self.bramley("api-keys", "create", "reader", "--scopes", SCOPES, "--json"))["id"]

    def link_id(self) -> str:
        self.others += 1
        answer = self.call("POST", "/api/v1/links", headers=bearer(self.key()), body={
            "externalID": f"link-{self.others}", "kind": "link", "displayName": "ada",
            "returnTo": "https://www.example.com/connected"}).must(201)
        return answer.json()["id"]

    def event_id(self) -> str:
        user = self.someone()["user"]["id"]
        event = json.loads(self.bramley("events", "tail", "--json", "--user", user).splitlines()[-1])["id"]
        # The server puts it into the queue of the webhooks a moment later.
        eventually(lambda: self.is_queued(user), "the webhook")
        return event

    def is_queued(self, user: str) -> bool:
        return bool(self.site.operator.database(
            "SELECT 1 FROM webhook_delivery WHERE sequence = (SELECT max(sequence) FROM event WHERE user = ?)", user))

    def with_people_imported(self) -> None:
        self.bramley("users", "import", "people.jsonl")

    def with_a_notification(self) -> None:
        """About somebody who was imported only afterwards."""
        sent = self.site.apple.call("GET", "notifications")["items"]
        if not any("8f5e7d3a" in json.dumps(item) for item in sent):
            self.site.apple.call("POST", "notifications", {
                "type": "email-disabled", "sub": "001234.later", "jti": "8f5e7d3a", "aud": SERVICES_ID})
        self.bramley("users", "import", "-", input='{"appleSubject":"001234.later"}\n')

    def with_a_file_of_clients(self) -> None:
        text = (ROOT / "docs/apps/openid.md").read_text().split("```json\n")[1].split("```")[0]
        (self.folder / "clients.json").write_text(text)

    def with_a_file_of_services(self) -> None:
        (self.folder / "services.json").write_text(next(
            fence.text for fence in fences() if fence.page == "docs/apps/openid.md" and '"services"' in fence.text))

    def with_a_backup(self) -> None:
        self.bramley("backup", "--force", "backups/today.db")
        shutil.copy(self.folder / "backups/today.db", self.folder / "copy.db")

    def with_a_login_begun(self) -> None:
        """As a browser that has opened the login page, its cookies in a file of curl's."""
        self.environment["LOCATION"] = output(
            "curl", "-s", "-o", "/dev/null", "-c", "cookies", "-w", "%{redirect_url}", self.site.url("/login/apple"),
            cwd=self.folder)

    def with_an_assertion(self) -> None:
        answer = self.call("GET", "/auth/verify?assertion=true", self.someone()["cookie"])
        (self.folder / "assertion").write_text(answer.headers["X-Auth-Request-Assertion"])

    def with_an_identity_token(self) -> None:
        token = self.site.apple.call("POST", "mint", {"claims": {"iss": "https://appleid.apple.com"}})["token"]
        (self.folder / "identity-token").write_text(token)

    def with_a_session(self) -> None:
        self.environment["SESSION"] = self.someone()["cookie"]

    def with_someone_waiting(self) -> None:
        self.someone()

    def with_both_teams(self) -> None:
        """The recipient must be known before anybody can be handed over to it."""
        self.someone()
        self.client("com.example.other", NEW_TEAM, NEW_KEY)

    def client(self, client: str, team: str, key: str) -> None:
        self.site.apple.call("POST", "clients", {
            "id": client, "team": team, "redirectURIs": [f"{self.site.origin}/apple/callback"], "keyID": key,
            "key": (self.folder / "AuthKey.p8").read_text()})

    def after_the_change(self) -> None:
        """The app has changed hands: with the new team's configuration from here on."""
        self.bramley("transfer", "export", "--to", NEW_TEAM)
        self.client(SERVICES_ID, NEW_TEAM, NEW_KEY)
        self.environment |= {"BRAMLEY_APPLE_TEAM_ID": NEW_TEAM, "BRAMLEY_APPLE_KEY_ID": NEW_KEY}

    def before_the_change(self) -> None:
        self.environment.pop("BRAMLEY_APPLE_TEAM_ID", None)
        self.environment.pop("BRAMLEY_APPLE_KEY_ID", None)
        self.client(SERVICES_ID, TEAM_ID, KEY_ID)
        self.with_both_teams()
        shutil.copy(self.folder / "config.json", self.folder / "old.json")
        (self.folder / "transferred.jsonl").unlink(missing_ok=True)

    def with_people_on_their_way(self) -> None:
        self.before_the_change()
        self.after_the_change()

    def with_a_file_of_people_on_their_way(self) -> None:
        self.before_the_change()
        self.bramley("transfer", "export", "--to", NEW_TEAM, "transferred.jsonl")
        self.after_the_change()

    def with_copies(self) -> None:
        for name in ("config.json", "AuthKey_F6G7H8I9J0.p8"):
            shutil.copy(self.folder / name, self.folder / f"copy-of-{name}")

    def fill_in(self, text: str, swaps: dict[str, str]) -> str:
        """The line with this machine's values instead of the documents'."""
        for old, new in swaps.items():
            assert old in text, f"{old!r} is not in {text!r}"
            text = text.replace(old, new)
        for pattern, new in (
                (r"sudo -u bramley |sudo ", lambda: ""),
                (r"/etc/bramley/config\.json", lambda: str(self.folder / "config.json")),
                (r"/etc/bramley|/var/lib/bramley", lambda: str(self.folder)),
                (r"/var/backups/bramley", lambda: str(self.folder / "backups")),
                (r"(?:http://)?127\.0\.0\.1:(?:8081|9700)", lambda: self.site.apple.origin),
                (r"127\.0\.0\.1:9090", lambda: f"127.0.0.1:{self.admin_port}"),
                (r"http://localhost:8080|https://id\.example\.com", lambda: self.site.origin),
                (r"https://appleid\.apple\.com", lambda: self.site.apple.origin),
                (r"evt_0{26}|evt_…", self.event_id),
                (r"usr_4yfwqbg99z3nwac6hg4phmjzv7|usr_…", lambda: self.someone()["user"]["id"]),
                (r"ses_0{26}", lambda: self.someone()["session"]["id"]),
                (r"key_0{26}", self.key_id), (r"lnk_0{26}", self.link_id)):
            if re.search(pattern, text):
                made = new()
                text = re.sub(pattern, lambda _: made, text)
        return text

    def run(self, text: str, treatment) -> tuple[int, str]:
        if treatment.before:
            getattr(self, treatment.before)()
        line = self.fill_in(text, treatment.swaps)
        environment = self.environment | ({"KEY": self.key()} if "$KEY" in line else {})
        if treatment.stopped:
            assert self.site.stop() == 0
        try:
            if treatment.until:
                return self.interrupted(line, environment, treatment)
            if treatment.typed:
                child = pexpect.spawn("bash", ["-c", line], cwd=str(self.folder), env=environment, encoding="utf-8",
                                      timeout=PATIENCE)
                child.logfile_read = printed = io.StringIO()
                for answer in treatment.typed:
                    child.expect(r"yes[^\n]*: ?$|: $")
                    child.sendline(answer)
                child.expect(pexpect.EOF)
                child.close()
                return child.exitstatus, printed.getvalue()
            done = finished("bash", "-o", "pipefail", "-c", f"exec 2>&1; {line}", cwd=self.folder, env=environment)
            return done.returncode, done.stdout
        finally:
            if treatment.stopped:
                self.start()

    def interrupted(self, line: str, environment: dict, treatment) -> tuple[int, str]:
        """Of a program that runs until Ctrl-C: as soon as what is expected was printed."""
        output = self.folder / "until.log"
        with output.open("wb") as file:
            process = subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=self.folder, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        try:
            def said() -> bool:
                assert process.poll() is None, output.read_text()
                if treatment.meanwhile and time.monotonic() > self.asked_at:
                    self.asked_at = time.monotonic() + 1
                    getattr(self, treatment.meanwhile)()
                return bool(re.search(treatment.until, output.read_text()))

            self.asked_at = 0.0
            eventually(said, treatment.until, output.read_text)
            process.send_signal(signal.SIGINT)
            return process.wait(timeout=PATIENCE), output.read_text()
        finally:
            process.kill()
            process.wait()

    def ends_a_session(self) -> None:
        self.bramley("sessions", "revoke", self.someone()["session"]["id"])

    def end(self) -> None:
        self.site.end()
