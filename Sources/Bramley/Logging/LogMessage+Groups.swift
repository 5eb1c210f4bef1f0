internal import Logging

/// Every message from level info up, the most severe first. A message whose level differs from case to case says so;
/// those without a meaning speak for themselves, and are not on the page.
extension LogMessage {
    static let groups: [(level: Logger.Level, messages: [LogMessage])] = [
        (.critical, [LogMessage("bramley cannot serve")]),
        (.error, errors), (.warning, warnings), (.notice, notices), (.info, infos),
    ]

    @EntryList<LogMessage> private static var errors: [LogMessage] {
        LogMessage(
            "database write failed: nobody can sign in; sessions continue",
            "database write failed: nobody can sign in",
            means: "Once a minute; `failed` writes so far.",
            do: "See [the database takes no writes](../operate/limits.md#the-database-takes-no-writes).")
        LogMessage(
            "database not reachable; sessions cannot be checked",
            means: "Proxies get 503 after `storage.postgres.trust`.",
            do: "See [several machines](../operate/several-machines.md#when-something-fails).")
        LogMessage(
            "database change detection failed; session caches bypassed", means: "Slower, but correct.",
            do: "Check the disk.")
        LogMessage("audit log write failed", means: "`type` and `object` are not recorded.")
        LogMessage("expired rows not deleted", means: "Retried every minute.")
        LogMessage(
            "clients of removed hosts not ended", means: "After a change of `openid.clientDocuments`; retried.",
            do: "Check the database.")
        LogMessage(
            "signing keys not readable", "signing keys not renewed", means: "Assertions get 503 until this is fixed.")
        LogMessage(
            "revocation queue not readable", "webhooks paused: database error", "daily checks paused: database error",
            means: "Nothing is lost.", do: "Check the disk.")
        LogMessage("notification not stored", means: "Apple got 503, and may send it again.")
        LogMessage(
            "certificate not reloaded; the previous one stays in use",
            "webhooks.secretFile not reloaded; the previous secrets stay in use",
            "sealing keys not reloaded; the previous keys stay in use",
            means: "A certificate's [`reason`](../operate/network.md#certificate-errors) says why.",
            do: "Fix the file; it is read again automatically.")
        LogMessage(
            "certificate expired", means: "Logged daily.",
            do: "Find out why it was not renewed; a new one needs no restart.")
        LogMessage(
            "Apple client keys not reloaded; the previous keys stay in use",
            "access rules not reloaded; the previous rules stay in force", means: "After SIGHUP.",
            do: "Fix `key` and send SIGHUP again.")
        LogMessage(
            "new process not ready; this one keeps serving", means: "After SIGUSR2.",
            do: "Read the new process's lines.")
        LogMessage(
            "new sealing key not recorded in the database; restart this server",
            means: "Until then backups name the old key.")
        LogMessage(
            "new sealing key in use, but not recorded in the database",
            means: "Retried every second; `keys rotate-sealing` waits.")
        LogMessage(
            "signing key cannot be unsealed", means: "It is replaced.",
            do: "List old sealing keys in `secrets.previousSealingKeyFiles`.")
        LogMessage(
            "token revocation at Apple abandoned",
            means: "After seven days. The person can remove this site in their Apple Account.")
        LogMessage(
            "daily checks stopped: too many credentials revoked at once",
            do: "See [daily checks](../operate/jobs.md#daily-checks).")
        LogMessage(
            "daily checks paused: Apple rejected our client credentials",
            means: "See [`client_refused`](failures.md).")
        LogMessage(
            "webhook endpoint gone; deliveries stopped", means: "It answered 410.",
            do: "Remove it from `webhooks.url`, or run `bramley webhooks retry --endpoint URL`.")
        LogMessage("response fields with line breaks dropped", do: "A bug in Bramley: please report it.")
    }

    @EntryList<LogMessage> private static var warnings: [LogMessage] {
        LogMessage("configuration", means: "A warning of `bramley check`, at start or after SIGHUP.")
        LogMessage(
            "configuration change needs a restart", means: "After SIGHUP.",
            do: "Restart to apply [`keys`](../operate/operating.md#what-sighup-reads-again).")
        LogMessage(
            "connections closed: limit reached",
            means: "Numbers for [each limit](../operate/limits.md#hostile-clients), once a minute.")
        LogMessage(
            "connection refused by server.proxyProtocol", means: "`peer` sent no PROXY header, or bypasses the proxy.",
            do: "Fix the load balancer or `server.trustedProxies`.")
        LogMessage(
            "file descriptor limit too low for server.limits.connections",
            means: "Only `connections` are accepted; see `do`.")
        LogMessage("clock jump detected", do: "See [the clock jumps](../operate/limits.md#the-clock-jumps).")
        LogMessage("log lines dropped", means: "`count` lines are missing: the disk is full, or the reader stopped.")
        LogMessage(
            "numbers for the operator's page not written", "NOTIFY_SOCKET is not a usable socket address",
            "Apple's stored keys not usable")
        LogMessage("certificate expires soon", means: "See `certificate expired`.")
        LogMessage("old backup not removed", do: "Remove `file`.")
        LogMessage(
            "webhook endpoint failing",
            means: "Logged once until it recovers. `client:ID`: an application's back-channel logout.")
        LogMessage(
            "inherited socket used instead of the configured address",
            means: "systemd's or the previous server's socket differs from `keys`.")
        LogMessage(
            "inherited socket closed: server.redirectPort is not set",
            do: "Remove the socket from the unit, or set the key.")
        LogMessage(
            "notification refused for an unlisted app",
            do: "See [unlisted apps](../apps/events.md#notifications-for-unlisted-apps).")
        LogMessage(
            "notification not verified",
            means: "Its key is not among Apple's, perhaps made up: Apple got 503. Once a minute.")
        LogMessage(
            "Apple's keys unavailable",
            means: "The last good keys stay valid for seven days. Retried with growing pauses.")
        LogMessage(
            "Apple's keys not stored", "Apple's stored keys not readable", means: "A restarted server needs Apple.")
        LogMessage(
            "Apple rejected one client key and accepted the other", means: "`refused` and `works` are key IDs.",
            do: "If you did not revoke the key, check the portal.")
        LogMessage(
            "token revocation at Apple failed",
            means: "Apple was not reached, rejected *us* (`client_refused`, an error), or no sealing key opens the "
                + "token (`unreadable`). Retried for seven days.")
        LogMessage(
            "credential check failed",
            means: "Hourly for each `reason`. `provider_unavailable`: no answer from Apple. As errors: `mismatch`: not "
                + "this client's token, check `apple.servicesID` and `apple.bundleIDs`; `identity_token`: Apple's "
                + "answer did not verify; `unreadable`: no sealing key opens the token. No one is signed out.")
        LogMessage("webhook event moved to dead letters", do: "Fix the application, then run `bramley webhooks retry`.")
        LogMessage(
            "logout token refused",
            means: "The application's answer was [final](../apps/openid.md#back-channel-logout).")
    }

    @EntryList<LogMessage> private static var notices: [LogMessage] {
        LogMessage(
            "backing up the database before a schema change; this can take minutes",
            means: "Nothing is served until it is done.")
        LogMessage(
            "database backed up before the schema change",
            means: "`file` is the [backup](../operate/upgrading.md#the-schema).")
        LogMessage(
            "interrupted restore completed", means: "`bramley restore` was killed after it had accepted the backup.")
        LogMessage(
            "link refused",
            means: "The account or identity is linked to another, or the person may not sign in. For `team_changed` or "
                + "`unreadable`: `apple.teamID` or the sealing key changed.")
        LogMessage("link completion refused: wrong code", means: "Five end the link.")
        LogMessage(
            "link completed, but its account cannot sign in",
            means: "The application completed it again, and must keep the password.")
        LogMessage(
            "database writes resumed", "database reachable again", "full connection limit restored",
            "Apple's keys fetched")
    }

    @EntryList<LogMessage> private static var infos: [LogMessage] {
        LogMessage("request", means: "[An answer](../operate/operating.md#requests); frequent ones at `debug`.")
        LogMessage(
            "request failed",
            means:
                "At the level of its [`reason`](failures.md). For each reason, 200 warnings and errors at once, then "
                + "ten a second; `unlogged` counts the rest.")
        LogMessage("notification", means: "From Apple; `outcome` says what it changed.")
        LogMessage(
            "credential revoked at Apple",
            means: "Apple rejects the refresh token of `user` for `client`; `sessions` ended.")
        LogMessage(
            "listening", "draining", "stopped", "handing over", "handed over", "certificate reloaded",
            "Apple client keys reloaded", "access rules reloaded", "webhooks.secretFile reloaded",
            "sealing keys reloaded", "signed in",
            "callback replayed in the same browser", "link started", "link authorized", "link completed",
            "token revoked at Apple after deletion", "webhook endpoint recovered", "webhooks resumed",
            "daily checks resumed", "expired rows being deleted", "signing key created",
            "sign-in refused", "callback without the binding cookie; posting it again",
            "visitor asked for an existing account")
    }
}
