"""The proxies, each run with the very file of docs/proxies: only names, ports and paths are put in."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from authority import self_signed
from programs import ROOT, Program, free_port

DOCS = ROOT / "docs/proxies"
DOMAIN = "orchard.test"
# Who may open what behind every proxy of the tests.
RULES = {
    "rules": [
        {"host": f"app.{DOMAIN}", "path": "/public/*", "allow": "public"},
        {"host": f"app.{DOMAIN}", "path": "/hello", "allow": "optional"},
        {"host": f"app.{DOMAIN}", "path": "/upload", "methods": ["PUT"], "allow": {"groups": ["uploaders"]}},
        {"host": f"app.{DOMAIN}", "path": "/admin/*", "allow": {"groups": ["admins"]}},
        {"host": f"app.{DOMAIN}", "path": "/ada/*", "allow": {"users": ["ada@example.com"]}},
        {"host": f"app.{DOMAIN}", "path": "/team/*", "allow": {"emailDomains": ["example.com"]}},
    ]
}

# Names under which applications are told who somebody is, or what was asked for, that these proxies do not set:
# oauth2-proxy's, Authelia's and those of older arrangements. Whoever could send one to an application that reads it
# could be anybody.
CLAIMS = [
    *(f"X-Forwarded-{name}" for name in (
        "User", "Email", "Groups", "Preferred-Username", "Access-Token", "Uri", "Method", "Port", "Prefix",
        "Server", "Ssl", "Scheme")),
    *(f"X-Auth-Request-{name}" for name in ("Access-Token", "Redirect", "Assertion")),
    *(f"X-Original-{name}" for name in ("URL", "URI", "Method", "Host", "For")), "X-Rewrite-URL",
    *(f"{prefix}-{name}" for prefix in ("Remote", "X-Remote", "X-Authenticated")
      for name in ("User", "Email", "Groups", "Name")),
    "X-Authenticated-Userid", "Forwarded", "X-Real-IP",
]
# What of these Traefik overwrites at its entry point, by itself.
TRAEFIKS_OWN = ["X-Forwarded-Port", "X-Forwarded-Server", "X-Real-IP"]
# By pattern, where the proxy has patterns: nobody has to have thought of the name.
CLAIMED_BY_PREFIX = [
    "X-Auth-Request-Foo", "X-Forwarded-Foo", "X-Original-Foo", "X-Rewrite-Foo", "Remote-Foo", "X-Remote-Foo",
    "X-Authenticated-Foo",
]


@dataclass
class Ports:
    """Where everything is: the proxy for visitors (with TLS and without), Bramley, the application."""

    secure: int
    plain: int
    bramley: int
    application: int


def make_certificate(folder: Path) -> None:
    """A self-made certificate for all names below the domain: example.pem, example.key and both in one file."""
    made = self_signed(f"*.{DOMAIN}", authority=True)
    both = made.chain + made.key
    for file, content in {"example.pem": made.chain, "example.key": made.key, "both.pem": both}.items():
        (folder / file).write_bytes(content)
        (folder / file).chmod(0o644 if file == "example.pem" else 0o600)


def filled(name: str, places: dict[str, str]) -> str:
    """The file of the documents with these texts replaced; one that is not there means that this test is out of date."""
    text = (DOCS / name).read_text()
    for old, new in places.items():
        assert old in text, f"docs/proxies/{name} does not hold {old!r}"
        text = text.replace(old, new)
    return text


class Proxy:
    """One proxy in a folder of its own. Which programs are there and how each is started is all that differs."""

    name = program = ""

    def __init__(self, folder: Path, ports: Ports):
        # Readable along its whole path: Apache's workers are another user.
        self.folder = Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=folder))
        self.folder.chmod(0o755)
        self.ports = ports
        self.process: Program | None = None
        make_certificate(self.folder)

    @classmethod
    def path(cls) -> str:
        found = shutil.which(cls.program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        assert found, f"{cls.program} is not installed: run scripts/packages.sh test"
        return found

    def start(self) -> "Proxy":
        self.process = Program(self.arguments(), self.folder / f"{self.name}.log", {
            name: str(self.folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")})
        self.process.wait_for(self.ports.secure)
        return self

    def stop(self) -> None:
        if self.process:
            self.process.stop()

    def arguments(self) -> list[str]:
        raise NotImplementedError

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o644)
        return file

    def places(self, *wanted: str) -> dict[str, str]:
        all_places = {
            "127.0.0.1:8080": f"127.0.0.1:{self.ports.bramley}",
            "127.0.0.1:3000": f"127.0.0.1:{self.ports.application}",
            "/etc/ssl/example.com.pem": str(self.folder / "example.pem"),
            "/etc/ssl/example.com.key": str(self.folder / "example.key"),
            "example.com": DOMAIN,
        }
        return {old: new for old, new in all_places.items() if not wanted or old in wanted}


class Nginx(Proxy):
    name = program = "nginx"

    def site(self) -> str:
        return filled("nginx.conf", {
            "listen 443 ssl": f"listen 127.0.0.1:{self.ports.secure} ssl",
            "listen 80": f"listen 127.0.0.1:{self.ports.plain}",
            "/var/log/nginx/bramley.log": f"{self.folder}/access.log", "/run/bramley-nginx": f"{self.folder}/kept",
        } | self.places())

    def arguments(self) -> list[str]:
        self.write("site.conf", self.site())
        temporary = "".join(
            f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.write("nginx.conf", f"""
            {"user root;" if os.geteuid() == 0 else ""} daemon off; worker_processes 1; pid {self.folder}/nginx.pid;
            events {{}} http {{ access_log off; {temporary} include {self.folder}/site.conf; }}
            """)
        return [self.path(), "-p", str(self.folder), "-e", "stderr", "-c", str(self.folder / "nginx.conf")]


class Caddy(Proxy):
    name = program = "caddy"

    def arguments(self) -> list[str]:
        options = (
            f"{{\n admin off\n http_port {self.ports.plain}\n https_port {self.ports.secure}\n"
            f" default_bind 127.0.0.1\n}}\n")
        file = self.write("Caddyfile", options + filled("Caddyfile", self.places()))
        return [self.path(), "run", "--config", str(file), "--adapter", "caddyfile"]


class HAProxy(Proxy):
    name = program = "haproxy"

    def arguments(self) -> list[str]:
        script = self.write("bramley.lua", filled("haproxy.lua", self.places("127.0.0.1:8080")))
        file = self.write("haproxy.cfg", filled("haproxy.cfg", {
            "lua-load /etc/haproxy/bramley.lua": f"lua-load {script}",
            "/etc/ssl/example.com.both.pem": str(self.folder / "both.pem"),
            "bind :443": f"bind 127.0.0.1:{self.ports.secure}",
            "bind :80": f"bind 127.0.0.1:{self.ports.plain}",
            "lua.bramley https app.example.com": f"lua.bramley https app.{DOMAIN}:{self.ports.secure}",
        } | self.places("127.0.0.1:8080", "127.0.0.1:3000", "example.com")))
        return [self.path(), "-db", "-f", str(file)]


class Apache(Proxy):
    name = "apache"
    program = "apache2"

    def arguments(self) -> list[str]:
        script = self.write("bramley.lua", filled("apache.lua", {
            '"app.example.com"': f'"app.{DOMAIN}:{self.ports.secure}"',
        } | self.places("127.0.0.1:8080")))
        site = self.write("site.conf", filled("apache.conf", {
            "*:443": f"*:{self.ports.secure}",
            "LuaHookAccessChecker /etc/apache2/bramley.lua": f"LuaHookAccessChecker {script}",
            "/var/log/apache2/bramley.log": f"{self.folder}/access.log",
        } | self.places()))
        modules = "\n".join(
            f"LoadModule {module}_module /usr/lib/apache2/modules/mod_{module}.so"
            for module in ("mpm_event", "authz_core", "headers", "lua", "proxy", "proxy_http", "ssl", "socache_shmcb"))
        file = self.write("apache.conf", f"""
            ServerRoot {self.folder}
            ServerName localhost
            PidFile {self.folder}/apache.pid
            DefaultRuntimeDir {self.folder}
            ErrorLog /dev/stderr
            {modules}
            {"User www-data" if os.geteuid() == 0 else ""}
            {"Group www-data" if os.geteuid() == 0 else ""}
            StartServers 1
            Listen 127.0.0.1:{self.ports.secure}
            Include {site}
            """)
        return [self.path(), "-DFOREGROUND", "-f", str(file)]


ALL = {proxy.name: proxy for proxy in (Nginx, Caddy, HAProxy, Apache)}


def free_ports(bramley: int, application: int) -> Ports:
    return Ports(free_port(), free_port(), bramley, application)
