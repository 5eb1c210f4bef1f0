"""`make tls-scan`: starts Bramley with a certificate of its own, lets testssl.sh look at it, and prints what it found.

    scan.py FOLDER_OF_PROGRAMS

Exit 1 when testssl.sh found something above "info" that ANSWERED does not explain.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "Tests/Support")]

from authority import Authority  # noqa: E402
from secure_site import SecureSite  # noqa: E402

# Findings by testssl.sh's names, and why they are no fault.
ANSWERED = {
    "engine_problem": "about the scanning machine: its OpenSSL has no GOST",
    "HTTP_status_code": "`/` redirects to the sign-in page, as intended",
    "cert_revocation": "about the test certificate, whose authority publishes no revocations",
}


def scan(binaries: Path, folder: Path) -> list[dict]:
    authority = Authority()
    os.environ["SSL_CERT_FILE"] = str(authority.write_root(folder / "trusted.pem"))
    pair = authority.issue("localhost")
    # The scan makes hundreds of connections from one address.
    site = SecureSite(binaries, folder, {"server.limits.connectionsPerAddress": 1000}, authority, pair).start()
    report = folder / "report.json"
    try:
        subprocess.run(
            ["testssl", "--quiet", "--warnings", "off", "--color", "0", "--nodns", "min", "--ip", "127.0.0.1",
             "--add-ca", str(site.trust), "--jsonfile", str(report), f"https://localhost:{site.port}"],
            env=os.environ | {"TERM": "dumb"}, stdin=subprocess.DEVNULL, timeout=1800)
        assert site.shown().serial_number == pair.serial
    finally:
        site.end()
    return json.loads(report.read_text())


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        findings = scan(Path(sys.argv[1]).resolve(), Path(folder))
    assert len(findings) > 100, "testssl.sh ended early"
    found = [finding for finding in findings if finding["severity"] not in ("OK", "INFO", "DEBUG")]
    print(f"\n== {len(findings)} looks, {len(found)} findings ==")
    for finding in found:
        mark = ANSWERED.get(finding["id"], "NOT ANSWERED")
        print(f"{finding['severity']:<8} {finding['id']:<28} {finding['finding'][:90]:<90} {mark}")
    return 1 if {finding["id"] for finding in found} - set(ANSWERED) else 0


if __name__ == "__main__":
    sys.exit(main())
