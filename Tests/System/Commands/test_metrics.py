"""/metrics and docs/operate, as Prometheus' own promtool reads them."""

import shutil
from pathlib import Path

from processes import finished
from programs import ROOT
from web import call

OPERATIONS = ROOT / "docs/operate"


def promtool(*arguments: str, given: str | None = None) -> str:
    assert shutil.which("promtool"), "promtool is missing: scripts/packages.sh test installs it"
    run = finished("promtool", *arguments, input=given)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def test_alerts_are_rules():
    assert "24 rules found" in promtool("check", "rules", str(OPERATIONS / "alerts.yml"))


def test_the_example_is_a_configuration():
    promtool("check", "config", str(OPERATIONS / "prometheus.yml"))


def test_alerts_fire_when_they_should_and_not_before():
    promtool("test", "rules", str(Path(__file__).with_name("alerts.test.yml")))


def test_a_running_server_prints_what_prometheus_reads(make_site):
    site = make_site()
    # The first page, and one with numbers in it. promtool also complains of names and missing help.
    for _ in range(2):
        assert promtool("check", "metrics", given=site.admin("/metrics").text).strip() == ""
        for path in ("/login", "/nothing", "/auth/verify"):
            call(site, "GET", path)
