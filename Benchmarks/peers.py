"""The programs that are measured, started and stopped, and what the kernel says of them."""

import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    """Totals of /proc/PID/smaps_rollup, in KiB."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return {m.group(1): int(m.group(2)) for m in re.finditer(r"^(\w+):\s+(\d+) kB", file.read(), re.M)}


def machine():
    with open("/proc/cpuinfo") as file:
        name = re.search(r"model name\s*:\s*(.*)", file.read())
    return f"{name.group(1).strip() if name else 'unknown processor'}, {os.cpu_count()} cores"


def wait_for_port(port, process):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            if process.poll() is not None:
                raise SystemExit(f"{process.args} ended before it listened")
            time.sleep(0.001)
    raise SystemExit(f"{process.args} does not listen")


def response_fields(port, path, headers):
    """What Bramley answers, so that nginx can be told to answer the same bytes."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    if response.status != 204:
        raise SystemExit(f"/auth/verify answered {response.status}, not 204")
    return [(n, v) for n, v in response.getheaders() if n not in ("Date", "Connection")]


class Bramley:
    """One `bramley serve` on one core, with one loop."""

    def __init__(self, binary, folder, core, apple="http://127.0.0.1:9", limits=None):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.port, admin = free_port(), free_port()
        key = os.path.join(folder, "key.p8")
        if not os.path.exists(key):
            subprocess.run(
                f"openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out {key}",
                shell=True, check=True)
            os.chmod(key, 0o600)
        configuration = {
            "publicURL": f"http://localhost:{self.port}",
            "access": {"signUp": "open"},
            "server": {"host": "127.0.0.1", "port": self.port, "threads": 1, "trustedProxies": ["127.0.0.1"],
                       "limits": limits or {}},
            "admin": {"port": admin},
            "apple": {"servicesID": "com.example.web", "teamID": "TEAM123456", "keyID": "KEY1234567",
                      "privateKeyFile": key, "scopes": ["name", "email"], "endpoint": apple},
            "storage": {"directory": os.path.join(folder, "data")},
            "log": {"level": "error"},
        }
        path = os.path.join(folder, "config.json")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(configuration, file)
        began = time.monotonic()
        self.process = subprocess.Popen(
            ["taskset", "-c", core, binary, "serve", "--config", path], stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_for_port(self.port, self.process)
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/login")
        connection.getresponse().read()
        self.milliseconds_to_first_answer = (time.monotonic() - began) * 1000

    def stop(self):
        self.process.terminate()
        if self.process.wait(30) != 0:
            raise SystemExit(f"bramley ended with {self.process.returncode}")


class Nginx:
    """One nginx worker on one core that answers 204 with the given fields to everything."""

    def __init__(self, fields, core, connections=1024):
        self.folder = tempfile.mkdtemp()
        self.port = free_port()
        lines = "\n".join(f'add_header {n} "{v}";' for n, v in fields if v)
        configuration = f"""
            worker_processes 1; daemon off; pid {self.folder}/pid; error_log /dev/null;
            worker_rlimit_nofile 65536;
            events {{ worker_connections {connections + 64}; }}
            http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; server_tokens off;
              server {{ listen 127.0.0.1:{self.port}; location / {{ {lines} return 204; }} }} }}"""
        path = os.path.join(self.folder, "nginx.conf")
        with open(path, "w") as file:
            file.write(configuration)
        self.process = subprocess.Popen(
            ["taskset", "-c", core, "nginx", "-c", path, "-p", self.folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_port(self.port, self.process)
        children = subprocess.run(
            ["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=True).stdout.split()
        self.pid = int(children[0])

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)


def openssl_verifications(core):
    """RSA-2048 verifications a second by `openssl speed`, one core, one second."""
    output = subprocess.run(
        ["taskset", "-c", core, "openssl", "speed", "-seconds", "1", "rsa2048"],
        capture_output=True, text=True, check=True).stdout
    return float(output.strip().splitlines()[-1].split()[-1])


def bytes_per_idle_connection(server, count):
    """Growth of the process's memory from no connection to `count` that have each had one answer and fallen idle."""
    request = b"GET /auth/verify HTTP/1.1\r\nHost: localhost\r\n\r\n"
    warm = socket.create_connection(("127.0.0.1", server.port))
    warm.sendall(request)
    warm.recv(4096)
    warm.close()
    time.sleep(0.3)
    before = memory(server.pid)["Anonymous"]
    connections = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", server.port))
        connection.sendall(request)
        connection.recv(4096)
        connections.append(connection)
    time.sleep(2.5)  # idle connections are parked after a second
    grown = memory(server.pid)["Anonymous"] - before
    for connection in connections:
        connection.close()
    return grown * 1024 / count
