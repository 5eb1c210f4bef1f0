"""docs/examples/cluster: three servers over PostgreSQL, one of each killed in front of somebody who is signed in."""

import os
import re
import signal
from pathlib import Path

import pytest
import yaml

from example import ROOT
from patience import eventually
from processes import finished, output
from programs import new_key, write_private

FOLDER = ROOT / "docs/examples/cluster"


@pytest.fixture
def cluster(start):
    return start("cluster")


def test_people_stay_signed_in_when_a_server_and_the_primary_fail(cluster, make_visitor):
    visitor = make_visitor(cluster)
    visitor.signs_in("ada")
    program, place = re.search(r"(failover\.sh) (\S+)", (cluster.folder / "example.log").read_text()).groups()
    for disaster in (lambda: os.kill(int((cluster.data / "node1.pid").read_text()), signal.SIGKILL),
                     lambda: output(FOLDER / program, place)):
        disaster()
        # One after another: each server gets its turn.
        for _ in range(6):
            visitor.open("/account")
            visitor.arrives("/account")
    visitor.press("form[action$='/logout'] button")
    eventually(lambda: not visitor.is_signed_in(), "the end of the session")
    visitor.signs_in("boris")
    assert visitor.is_signed_in()


def test_a_server_that_is_not_ready_gets_no_requests(cluster):
    """Whatever is asked, somebody answers."""
    assert {cluster.ask("/login").status for _ in range(12)} == {200}


def test_the_manifests_are_of_one_deployment(binaries, tmp_path):
    parts = {part["kind"]: part for part in yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())}
    pod = parts["Deployment"]["spec"]["template"]
    assert pod["spec"]["enableServiceLinks"] is False
    labels = pod["metadata"]["labels"]
    assert labels == parts["Deployment"]["spec"]["selector"]["matchLabels"] == parts["Service"]["spec"]["selector"]
    assert labels == parts["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]
    assert labels == parts["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]
    container = pod["spec"]["containers"][0]
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == {"http": 8080, "admin": 9090}
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    configuration = parts["ConfigMap"]["data"]["config.json"]
    for file in re.findall(r'"(/run/keys/[^"]+)"', configuration):
        assert str(Path(file).parent) in mounts
        assert f"--from-file={Path(file).name}" in (FOLDER / "kubernetes.yaml").read_text()
    # The configuration holds, with files in the places that exist here.
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    url = "postgresql://bramley:secret@bramley-db-rw/bramley?sslmode=verify-full&sslrootcert=/run/keys/db-ca.crt\n"
    here = configuration.replace("/run/keys", str(keys)).replace("/var/lib/bramley/data", str(tmp_path / "data"))
    for file, content in {
            keys / "AuthKey.p8": new_key(), keys / "sealing.key": b"0" * 63 + b"1", keys / "postgres.url": url.encode(),
            tmp_path / "config.json": here.encode()}.items():
        write_private(file, content)
    done = finished(binaries / "bramley", "check", "--config", tmp_path / "config.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "TLS" not in done.stdout + done.stderr


def test_the_compose_file_names_what_it_uses():
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    for service in compose["services"].values():
        for name in service.get("secrets", []):
            assert name in compose["secrets"]
        for path in re.findall(r"/run/secrets/([\w.]+)", str(service.get("environment"))):
            assert path in service["secrets"]
