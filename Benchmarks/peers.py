"""The programs that are measured, started and stopped, and what the kernel says of them."""

import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time

# What both sides of a TLS row offer: ECDHE with an AEAD.
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(pid):
    """CPU time of a process, user and system, threads that have ended included; as exact as the scheduler is."""
    # The process's CPU clock, as clock_getcpuclockid(3) names it.
    return time.clock_gettime(~pid << 3 | 2)


def memory(pid):
    """Totals of /proc/PID/smaps_rollup, in KiB."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return {m.group(1): int(m.group(2)) for m in re.finditer(r"^(\w+):\s+(\d+) kB", file.read(), re.M)}


def private(pid):
    """KiB that this process alone has and has written to."""
    return memory(pid)["Private_Dirty"]


def machine():
    with open("/proc/cpuinfo") as file:
        name = re.search(r"model name\s*:\s*(.*)", file.read())
    return f"{name.group(1).strip() if name else 'unknown processor'}, {os.cpu_count()} cores"


def wait_for_port(port, process):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            if process.poll() is not None:
                raise SystemExit(f"{process.args} ended before it listened")
            time.sleep(0.001)
    raise SystemExit(f"{process.args} does not listen")


def first_child(pid):
    """nginx's worker: its parent listens before it is there."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise SystemExit(f"{pid} has no child")


class Certificate:
    """A self-signed certificate for localhost and its key, as PEM files: `p256` or `rsa2048`."""

    def __init__(self, folder, kind):
        self.certificate, self.key = (os.path.join(folder, f"{kind}.{end}") for end in ("crt", "key"))
        new = {"p256": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
               "rsa2048": ["-newkey", "rsa:2048"]}[kind]
        subprocess.run(
            ["openssl", "req", "-x509", *new, "-nodes", "-days", "30", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", self.key, "-out", self.certificate],
            check=True, capture_output=True)
        os.chmod(self.key, 0o600)


class Server:
    """A process that answers on a port of 127.0.0.1, perhaps over TLS."""

    port = pid = 0
    certificate = None

    @property
    def url(self):
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"

    def connection(self):
        if self.certificate:
            return http.client.HTTPSConnection(
                "127.0.0.1", self.port, context=ssl._create_unverified_context(), timeout=30)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, path, headers={}):
        connection = self.connection()
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response


def response_fields(server, path, headers):
    """What Bramley answers, so that the others can be told to answer the same bytes."""
    response = server.ask(path, headers)
    if response.status != 204:
        raise SystemExit(f"{path} answered {response.status}, not 204")
    return [(n, v) for n, v in response.getheaders() if n.lower() not in ("date", "connection")]


class Bramley(Server):
    """One `bramley serve`, with one loop unless told otherwise."""

    def __init__(self, binary, folder, core, apple="http://127.0.0.1:9", limits=None, certificate=None, threads=1,
                 wrapper=(), postgres=None, sealing_key=None):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.certificate = certificate
        self.port, admin = free_port(), free_port()
        key = os.path.join(folder, "key.p8")
        if not os.path.exists(key):
            subprocess.run(
                f"openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out {key}",
                shell=True, check=True)
            os.chmod(key, 0o600)
        configuration = {
            "publicURL": f"{'https' if certificate else 'http'}://localhost:{self.port}",
            "access": {"signUp": "open"},
            "server": {"host": "127.0.0.1", "port": self.port, "threads": threads, "trustedProxies": ["127.0.0.1"],
                       "limits": limits or {}},
            "admin": {"port": admin},
            "apple": {"servicesID": "com.example.web", "teamID": "TEAM123456", "keyID": "KEY1234567",
                      "privateKeyFile": key, "scopes": ["name", "email"], "endpoint": apple},
            "storage": {"directory": os.path.join(folder, "data")},
            "log": {"level": "error"},
        }
        if postgres:
            configuration["storage"]["postgres"] = {"url": postgres}
            configuration["secrets"] = {"sealingKeyFile": sealing_key}
        if certificate:
            configuration["server"].update(
                certificateFile=certificate.certificate, privateKeyFile=certificate.key)
        path = os.path.join(folder, "config.json")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(configuration, file)
        began = time.monotonic()
        self.process = subprocess.Popen(
            ["taskset", "-c", core, *wrapper, binary, "serve", "--config", path], stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_for_port(self.port, self.process)
        self.ask("/login")
        self.milliseconds_to_first_answer = (time.monotonic() - began) * 1000

    def stop(self):
        self.process.terminate()
        if self.process.wait(60) != 0:
            raise SystemExit(f"bramley ended with {self.process.returncode}")


class Nginx(Server):
    """One nginx worker on one core that answers 204 with the given fields to everything."""

    def __init__(self, fields, core, connections=1024, certificate=None, wrapper=()):
        self.folder = tempfile.mkdtemp()
        self.port, self.certificate = free_port(), certificate
        lines = "\n".join(f'add_header {n} "{v}";' for n, v in fields if v)
        listen, tls = f"listen 127.0.0.1:{self.port}", ""
        if certificate:
            listen += " ssl http2"
            tls = f"""ssl_certificate {certificate.certificate}; ssl_certificate_key {certificate.key};
                ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers {CIPHERS}; ssl_session_tickets on;"""
        # Under valgrind the one process is the worker.
        single = "master_process off;" if wrapper else ""
        configuration = f"""
            worker_processes 1; daemon off; {single} pid {self.folder}/pid; error_log /dev/null;
            worker_rlimit_nofile 65536;
            events {{ worker_connections {connections}; }}
            http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; server_tokens off;
              http2_max_concurrent_streams 128;
              server {{ {listen}; {tls} location / {{ {lines} return 204; }} }} }}"""
        path = os.path.join(self.folder, "nginx.conf")
        with open(path, "w") as file:
            file.write(configuration)
        self.process = subprocess.Popen(
            ["taskset", "-c", core, *wrapper, shutil.which("nginx") or "/usr/sbin/nginx", "-c", path, "-p",
             self.folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_port(self.port, self.process)
        self.pid = self.process.pid
        if not single:
            self.pid = first_child(self.process.pid)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)


class Hummingbird(Server):
    """The peer of Benchmarks/hummingbird-peer: one event loop; the session is looked up in SQLite by GRDB."""

    binary = os.environ.get("BENCH_HUMMINGBIRD", "")

    def __init__(self, fields, cookie, core, certificate=None):
        self.folder = tempfile.mkdtemp()
        self.port, self.certificate = free_port(), certificate
        path = os.path.join(self.folder, "fields")
        with open(path, "w") as file:
            file.writelines(f"{name}: {value}\n" for name, value in fields)
        name, _, token = cookie.partition("=")
        command = [self.binary, str(self.port), os.path.join(self.folder, "sessions.db"), path, name, token]
        if certificate:
            command += [certificate.certificate, certificate.key]
        self.process = subprocess.Popen(["taskset", "-c", core, *command], stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_for_port(self.port, self.process)
        response = self.ask("/auth/verify", {"Cookie": cookie})
        if response.status != 204:
            raise SystemExit(f"Hummingbird answered {response.status}")

    @classmethod
    def is_here(cls):
        return bool(cls.binary)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)


def openssl_verifications(core):
    """RSA-2048 verifications a second by `openssl speed`, one core, one second."""
    output = subprocess.run(
        ["taskset", "-c", core, "openssl", "speed", "-seconds", "1", "rsa2048"],
        capture_output=True, text=True, check=True).stdout
    return float(output.strip().splitlines()[-1].split()[-1])
