"""`make tls-scan`: starts Bramley with a certificate of its own, lets testssl.sh look at it, and prints what it found.

    scan.py FOLDER_OF_PROGRAMS

Exit 1 when testssl.sh found something that docs/tls.md does not answer.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "Tests/Support")]

from authority import Authority  # noqa: E402
from secure_site import SecureSite  # noqa: E402

DOCUMENT = ROOT / "docs/tls.md"
FINE = {"OK", "INFO", "DEBUG"}


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
    answered = set(re.findall(r"^\| `(\S+)` \|", DOCUMENT.read_text(), re.MULTILINE))
    found = [finding for finding in findings if finding["severity"] not in FINE]
    print(f"\n== {len(findings)} looks, {len(found)} findings ==")
    for finding in found:
        mark = "answered" if finding["id"] in answered else "NOT ANSWERED"
        print(f"{finding['severity']:<8} {finding['id']:<28} {finding['finding'][:90]:<90} {mark}")
    return 1 if {finding["id"] for finding in found} - answered else 0


if __name__ == "__main__":
    sys.exit(main())
