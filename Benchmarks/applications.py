"""What applications ask of Bramley: a site behind nginx, introspection, and both with a million people stored.

The databases are filled by hand (`fill`), in the schema the server made: a million sign-ins would take an hour. Every
ratio is of two programs, or of the same program with two databases, in adjacent pairs on one core.
"""

import base64
import hashlib
import http.client
import json
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time

import peers

KEY = "brk_" + base64.urlsafe_b64encode(hashlib.sha256(b"benchmark key").digest()).rstrip(b"=").decode()


def token(number):
    return "brs_" + base64.urlsafe_b64encode(hashlib.sha256(b"session %d" % number).digest()).rstrip(b"=").decode()


def digest(text):
    return hashlib.sha256(text.encode()).digest()


def identifier(prefix, number):
    return f"{prefix}_{number:026d}"


def fill(folder, count):
    """`count` users with one session each and one event each, and an API key with every scope."""
    path = os.path.join(folder, "data", "bramley.db")
    now = int(time.time() * 1000)
    # As if each had been seen a moment ago during the whole run: writing `lastSeenAt` is not what is measured.
    seen, end = now + 3_600_000, now + 30 * 86_400_000
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA cache_size = -400000")
    numbers = range(count)
    with database:
        database.executemany(
            "INSERT INTO user (id, state, email, email_verified, created_at, updated_at)"
            " VALUES (?, 'active', ?, 1, ?, ?)",
            ((identifier("usr", n), f"person{n}@example.com", now + n, now) for n in numbers))
        database.executemany(
            "INSERT INTO apple_identity (id, user, team, subject, credential_state, last_sign_in_issued_at, created_at)"
            " VALUES (?, ?, 'TEAM123456', ?, 'authorized', ?, ?)",
            ((n + 1, identifier("usr", n), f"filled{n}", now, now) for n in numbers))
        rows = sorted((digest(token(n)), n) for n in numbers)
        database.executemany(
            "INSERT INTO session (token_hash, id, kind, user, identity, client_id, user_agent, address, issued_at,"
            " created_at, last_seen_at, expires_at, examine_at)"
            " VALUES (?, ?, 'browser', ?, ?, 'com.example.web', 'Mozilla/5.0', '203.0.113.7', ?, ?, ?, ?, ?)",
            ((h, identifier("ses", n), identifier("usr", n), n + 1, now, now, seen, end, end) for h, n in rows))
        database.executemany(
            "INSERT INTO event (salt, type, time, user, session) VALUES (x'00', 'session.created', ?, ?, ?)",
            ((now, identifier("usr", n), identifier("ses", n)) for n in numbers))
        database.execute(
            "INSERT INTO api_key (id, hash, name, scopes, created_at) VALUES (?, ?, 'benchmark', ?, ?)",
            (identifier("key", 1), digest(KEY), json.dumps(["introspect", "users:read", "events:read"]), now))
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


class Filled:
    """A server on a database with `count` people in it."""

    def __init__(self, binary, folder, core, count):
        peers.Bramley(binary, folder, core).stop()
        fill(folder, count)
        self.server = peers.Bramley(binary, folder, core)
        self.count = count
        self.pid, self.port, self.stop = self.server.pid, self.server.port, self.server.stop


ASSETS = 20


class Site:
    """nginx with a small page and its assets, behind `auth_request` when `auth` names where to ask. With `keeps`, answers
    are kept as docs/proxies/nginx.conf keeps them."""

    def __init__(self, core, auth=None, keeps=False):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        self.port = peers.free_port()
        for name in ["page.html", *(f"asset{number}.css" for number in range(ASSETS))]:
            with open(os.path.join(self.folder, name), "w") as file:
                file.write("<!doctype html><title>A page</title>" + "<p>Text." * 60)
        # In memory, as /run is.
        self.kept = tempfile.mkdtemp(dir="/dev/shm")
        kept = "" if not keeps else f"""
            proxy_cache_path {self.kept} keys_zone=kept:4m max_size=64m inactive=2s use_temp_path=off;"""
        keep = "" if not keeps else """
                proxy_cache kept; proxy_ignore_headers Cache-Control;
                proxy_cache_key "$time_iso8601\\n$host\\n$http_cookie\\n$http_authorization";"""
        guard = "" if auth is None else "auth_request /auth; auth_request_set $user $upstream_http_x_auth_request_user;"
        ask = "" if auth is None else f"""
            {kept} upstream verify {{ server 127.0.0.1:{auth}; keepalive 16; }}"""
        location = "" if auth is None else """
            location = /auth { internal; proxy_pass http://verify/auth/verify""" + ("?cached=true" if keeps else "") + """;
                proxy_pass_request_body off;
                proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Content-Length "";
                proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $host;
                proxy_set_header X-Forwarded-Uri $request_uri; proxy_set_header X-Forwarded-Method $request_method;
                """ + keep + " }"
        configuration = f"""
            worker_processes 1; daemon off; pid {self.folder}/pid; error_log /dev/null; user {user()};
            events {{ worker_connections 1024; }}
            http {{ access_log off; keepalive_requests 1000000000; {ask}
              server {{ listen 127.0.0.1:{self.port}; root {self.folder}; {location}
                location / {{ {guard} }} }} }}"""
        path = os.path.join(self.folder, "nginx.conf")
        with open(path, "w") as file:
            file.write(configuration)
        self.process = subprocess.Popen(
            ["taskset", "-c", core, "nginx", "-c", path, "-p", self.folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        peers.wait_for_port(self.port, self.process)
        self.pid = int(subprocess.run(
            ["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=True).stdout.split()[0])

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        for folder in (self.folder, self.kept):
            shutil.rmtree(folder, ignore_errors=True)


def user():
    import getpass
    return getpass.getuser()


class Load:
    """wrk with requests made by a script; CPU of any number of processes over the same run."""

    def __init__(self, core, seconds):
        self.core, self.seconds = core, seconds

    def run(self, port, path, script, pids):
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
            file.write(script)
            file.flush()
            before = [peers.cpu_seconds(pid) for pid in pids]
            output = subprocess.run(
                ["taskset", "-c", self.core, "wrk", "-t1", "-c32", f"-d{self.seconds:g}s", "-s", file.name,
                 f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True).stdout
        if "Non-2xx" in output or "Socket errors" in output:
            raise SystemExit(f"the load was not answered as it should be:\n{output}")
        total = int(re.search(r"(\d+) requests in", output).group(1))
        used = sum(peers.cpu_seconds(pid) - start for pid, start in zip(pids, before))
        return float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1)), used / total * 1e6


def cookies_script(spread, stored, order="math.random(#requests)"):
    """GETs with the cookies of `spread` different sessions, evenly among those `stored`, in random order."""
    with tempfile.NamedTemporaryFile("w", suffix=".tokens", delete=False) as file:
        step = stored // spread
        file.write("\n".join(token(n * step) for n in range(spread)))
    return file.name, f"""
        local requests = {{}}
        for line in io.lines("{file.name}") do requests[#requests + 1] = line end
        math.randomseed(42)
        local turn = 0
        local head = "GET " .. wrk.path .. " HTTP/1.1\\r\\nHost: localhost\\r\\nUser-Agent: Mozilla/5.0\\r\\nCookie: __Host-bramley="
        request = function() return head .. requests[{order}] .. "\\r\\n\\r\\n" end
        """


def visits_script(spread):
    """`spread` people in groups of 64: the page of each, then, as a browser that has read it, each one's assets."""
    name, _ = cookies_script(spread, spread)
    return name, f"""
        local people = {{}}
        for line in io.lines("{name}") do people[#people + 1] = line end
        local turn = -1
        request = function()
            turn = turn + 1
            local group, place = math.floor(turn / (64 * {ASSETS + 1})), turn % (64 * {ASSETS + 1})
            local part, person = math.floor(place / 64), (group * 64 + place % 64) % #people
            local path = part == 0 and "/page.html" or "/asset" .. (part - 1) .. ".css"
            return "GET " .. path .. " HTTP/1.1\\r\\nHost: localhost\\r\\nUser-Agent: Mozilla/5.0\\r\\nCookie: __Host-bramley="
                .. people[person + 1] .. "\\r\\n\\r\\n"
        end
        """


def introspect_script(number=0):
    return f"""
        wrk.method = "POST"
        wrk.body = "token={token(number)}"
        wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
        wrk.headers["Authorization"] = "Bearer {KEY}"
        """


def bearer_script():
    return f'wrk.headers["Authorization"] = "Bearer {KEY}"'


def ask(port, method, path, headers, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    text = response.read()
    if response.status != 200:
        raise SystemExit(f"{method} {path} answered {response.status}: {text[:200]}")
    return json.loads(text)


def pairs(rounds, first, second):
    """Measurements of two things in turn, whichever began last time beginning second."""
    results = {0: [], 1: []}
    for round in range(rounds):
        for index in ((0, 1) if round % 2 == 0 else (1, 0)):
            results[index].append((first, second)[index]())
    return results[0], results[1]


def middle(values, index):
    return statistics.median(value[index] for value in values)


def ratio_rows(label, goal, ours, theirs, names, spread, cpu_goal=""):
    rates = [a[0] / b[0] for a, b in zip(ours, theirs)]
    costs = [a[1] / b[1] for a, b in zip(ours, theirs)]

    return [
        (f"{label}: requests/s, {names}", spread(rates), goal,
         f"{middle(ours, 0):,.0f} against {middle(theirs, 0):,.0f}"),
        (f"{label}: CPU per request, {names}", spread(costs), cpu_goal,
         f"{middle(ours, 1):.2f} µs against {middle(theirs, 1):.2f} µs"),
    ]


def rows(binary, folder, server_core, load_core, rounds, seconds, spread, count=1_000_000):
    load = Load(load_core, seconds)
    small = Filled(binary, os.path.join(folder, "small"), server_core, 1_000)
    big = Filled(binary, os.path.join(folder, "big"), server_core, count)
    files = []
    try:
        few, script = cookies_script(1_000, 1_000)
        files.append(few)
        # Bramley's own answers through nginx: the site alone, and the site asking something that only says yes.
        cookie = f'wrk.headers["Cookie"] = "__Host-bramley={token(0)}"'
        yes = peers.Nginx([], server_core)
        sites = [
            Site(server_core), Site(server_core, small.port), Site(server_core, yes.port),
            Site(server_core, small.port, keeps=True)]
        try:
            plain, guarded, floor, keeping = sites
            def measure(site, *others):
                return lambda: load.run(site.port, "/page.html", cookie, [site.pid, *(other.pid for other in others)])
            table = ratio_rows(
                "a page through nginx with forward-auth", "",
                *pairs(rounds, measure(guarded, small), measure(plain)), "÷ the same site without", spread)
            table += ratio_rows(
                "a page through nginx with forward-auth", "",
                *pairs(rounds, measure(guarded, small), measure(floor, yes)),
                "÷ `auth_request` to an nginx `return 204`", spread)
            people, visits = visits_script(1_000)
            files.append(people)

            def visited(site, *others):
                return lambda: load.run(site.port, "/", visits, [site.pid, *(other.pid for other in others)])
            for label, goal, site in (("asked each time", "", guarded), ("asked once", "≤ 2", keeping)):
                table += ratio_rows(
                    f"a page with {ASSETS} assets and forward-auth, {label}", "",
                    *pairs(rounds, visited(site, small), visited(plain)), "÷ the same site without", spread, goal)
        finally:
            for site in sites:
                site.stop()
            yes.stop()

        answer = json.dumps(ask(small.port, "POST", "/api/v1/introspect", {
            "Authorization": f"Bearer {KEY}", "Content-Type": "application/x-www-form-urlencoded"},
            f"token={token(0)}"))
        assert json.loads(answer)["active"] is True
        table += ratio_rows(
            f"introspection, {count:,} sessions stored", "",
            *pairs(rounds,
                   lambda: load.run(big.port, "/api/v1/introspect", introspect_script(count // 2), [big.pid]),
                   lambda: load.run(small.port, "/api/v1/introspect", introspect_script(), [small.pid])),
            "÷ 1,000 stored", spread)

        thousand, script_big = cookies_script(1_000, count)
        files.append(thousand)
        table += ratio_rows(
            f"`/auth/verify`, 1,000 of {count:,} sessions", "≥ 0.95",
            *pairs(rounds, lambda: load.run(big.port, "/auth/verify", script_big, [big.pid]),
                   lambda: load.run(small.port, "/auth/verify", script, [small.pid])),
            "÷ 1,000 of 1,000", spread)

        bearer = bearer_script()
        for name in ("events", "users"):
            late, early = (last_page(server, f"/api/v1/{name}", server.count - 60) for server in (big, small))
            table += ratio_rows(
                f"a page of 50 {name} near the end of {count:,}", "",
                *pairs(rounds, lambda: load.run(big.port, late, bearer, [big.pid]),
                       lambda: load.run(small.port, early, bearer, [small.pid])),
                "÷ of 1,000", spread)
        return table
    finally:
        small.stop()
        big.stop()
        for name in files:
            os.unlink(name)


def last_page(server, path, skip):
    """The address of 50 entries of a list, after at most `skip`: a cursor comes only from the server."""
    cursor, place = "", 0
    while place < skip:
        page = ask(server.port, "GET", f"{path}?limit=200{cursor}", {"Authorization": f"Bearer {KEY}"})
        place += len(page["items"])
        if place >= skip or page["next"] is None:
            break
        cursor = f"&after={page['next']}"
    return f"{path}?limit=50{cursor}"
