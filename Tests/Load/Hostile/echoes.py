"""http-echo under fire, plain or with a certificate, and the way to it."""

import ssl
from pathlib import Path

from programs import Program, free_port
from proxies import make_certificate
from rude import Target


def start(binaries: Path, folder: Path, *options: str, environment: dict[str, str] | None = None,
          secure: bool = True) -> tuple[Program, Target]:
    port, contexts = free_port(), None
    if secure:
        make_certificate(folder)
        options += ("--certificate", str(folder / "example.pem"), "--private-key", str(folder / "example.key"))
        contexts = {}
        for protocol in (None, "h2"):
            contexts[protocol] = ssl.create_default_context(cafile=folder / "example.pem")
            contexts[protocol].check_hostname = False
            if protocol:
                contexts[protocol].set_alpn_protocols([protocol])
    program = Program(
        [str(binaries / "http-echo"), "--port", str(port), *options], folder / f"http-echo-{port}.log", environment)
    program.wait_for(port)
    return program, Target(port, contexts)
