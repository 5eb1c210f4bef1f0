extension ReferencePage {
    var preface: String {
        switch self {
        case .failures: Self.failuresPreface
        case .doctor: Self.doctorPreface
        case .metrics: Self.metricsPreface
        case .logLines: Self.logLinesPreface
        }
    }

    private static let failuresPreface = """
        Why a request was refused: `reason` in the log and, once Apple has verified the person, in the [audit \
        log](../operate/audit-log.md); `code` in a [problem document](api.md#errors). Codes are stable; `detail` says \
        more. [Background jobs](../operate/jobs.md) and [the certificate](../operate/network.md#certificate-errors) \
        have their own codes.

        [Troubleshooting](../operate/troubleshooting.md#why-was-this-person-refused) leads from a visitor's error \
        number to its code.
        """

    private static let doctorPreface = """
        `bramley doctor` tests the running system: Apple, the clock, and the path from `publicURL` to Bramley. It \
        takes at most a minute and changes nothing.

        ```sh
        bramley doctor
        bramley doctor --json
        ```

        ```
        good    apple_key_set: https://appleid.apple.com/auth/keys answers with 3 usable keys.
        wrong   clock: This machine's clock is 95 s behind Apple's.
                next: Run a time service (systemd-timesyncd, chrony) on this machine. …

        1 wrong, 0 unsure, 1 good
        ```

        Run it beside the server, as its user, after the first start, after changes to proxy, certificate, key or \
        DNS, and when something is wrong. It exits 1 if anything is `wrong`.

        - `--json` prints `{"isHealthy", "items": [{"check", "state", "finding", "about", "detail", "nextStep"}]}`.
        - `--alive` only asks the server beside it for `/healthz`: a container's health check.

        It asks Apple for its keys, for a token of scope `user.migration`, and to redeem a made-up code; it asks \
        `publicURL` as a visitor and as Apple would, with a `Bramley-Doctor` header made with the sealing key.

        Run it also where DNS or firewall differ, with configuration and sealing key. It cannot see the portal: [sign \
        in once](../start/getting-started.md#6-sign-in).

        Names of checks and findings are stable. Findings are `wrong`, unless marked *unsure*.
        """

    private static let metricsPreface = """
        The admin listener (`admin.host`, `admin.port`) serves Prometheus' text format:

        ```sh
        curl -s http://127.0.0.1:9090/metrics
        ```

        Use it with [prometheus.yml](../operate/prometheus.yml), [alerts.yml](../operate/alerts.yml) and their \
        [runbook](../operate/incidents.md), and [grafana-dashboard.json](../operate/grafana-dashboard.json).

        - Counters end in `_total` and start at 0 with the process: use `rate` and `increase`. The rest are gauges and \
        histograms.
        - Labels hold no names, addresses, ids, client IDs or hosts. Unknown routes, methods and statuses are `other`, \
        as is invalid HTTP, which has no duration.
        - Requests show only what occurred, other counters every value from the start.
        - Sessions, credentials and queues are counted at most every 15 seconds. Every server of one database reports \
        the same: use `max`, not `sum`.
        - Each scrape makes a durable write, and reports it in `bramley_ready`.
        """

    private static let logLinesPreface = """
        Messages that need an explanation, by level. Names in code are fields of the \
        [line](../operate/operating.md#log); `cause`, `detail` or `reason` say why.
        """
}
