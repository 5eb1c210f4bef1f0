"""The package on a machine that boots: under systemd, and under its AppArmor profile."""

from machine_boot import Machine


def test_the_service_starts_on_a_booted_machine(own_machine, packages, former, tmp_path):
    machine = Machine(tmp_path, {
        "bramley-former.deb": former, "bramley.deb": packages["bramley"], "apple-simulator.deb": packages["apple-simulator"]})
    confined = "bramley (enforce)"
    assert machine.boot("first") == {
        # Nothing starts before it is configured.
        "installed state": "inactive",
        "started state": "active", "started profile": confined, "started session": "200",
        "started doctor": "0 wrong, 0 unsure",
        # The new program has taken over, and people are still signed in.
        "upgraded state": "active", "upgraded profile": confined, "upgraded process": "another",
        "upgraded program": "/usr/bin/bramley", "upgraded session": "200",
        "upgraded denied": "0",
    }
    assert machine.boot("second") == {
        "rebooted state": "active", "rebooted profile": confined, "rebooted session": "200",
        "restarted state": "active", "restarted session": "200", "restarted denied": "0",
        # A program that was taken over reads and writes no other files, not even as root.
        "free shadow": "yes", "confined shadow": "no", "backups written": "free.db ",
        # Off until somebody enables it; then in its own sandbox.
        "nightly timer": "disabled", "nightly backups": "bramley 600 active",
        "removed state": "inactive", "purged data": "/var/lib/bramley/data/bramley.db", "purged unit": "0",
    }
