"""Numbers of the code, and the places in the documents that say them."""

from documents import ROOT

# What stands behind `N` in a page. Durations are compared in seconds, sizes in bytes.
UNITS = {
    "ms": 0.001, "s": 1, "second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800, "year": 31_536_000,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}
MILLISECONDS = UNITS["ms"]
PERCENT = 100

ACCOUNTS, APPLE, BRAMLEY, HTTP, SIMULATOR, SOCKETS, STORAGE, WEB = (f"Sources/{name}/" for name in (
    "Accounts", "AppleID", "Bramley", "HTTP", "AppleSimulator", "Sockets", "Storage", "Web"))
ALERTS, LIMITS, UNIT = "docs/operate/alerts.yml", "docs/operate/limits.md", "packaging/systemd/bramley.service"
DATA = next(page for page in ("docs/reference/data.md", "docs/trust/privacy.md") if (ROOT / page).exists())
EXAMPLE, RECIPE = "docs/examples/accounts/accounts.py", "Tests/System/OpenID/test_long_clients.py"

VERIFIER = "docs/examples/verify-assertion.py"

# A file, the expression that finds the number in it, and what makes it seconds, bytes or a plain number; then each
# place that says it. An expression without an `N` is counted, in all files that the pattern names.
CLAIMS = {
    # Signing in, links, deletion
    (WEB + "SignedInReader.swift", "recent: Int64 = N"): [
        ("docs/apps/native.md", "within the last N minutes"),
        ("docs/operate/operator.md", "within the last N minutes"),
        ("docs/reference/api.md", "must be at most N minutes old"),
        ("docs/reference/api.md", "after a sign-in within N minutes"),
        ("docs/trust/security.md", "only within N minutes of the sign-in"),
        ("docs/trust/threat-model.md", "a sign-in within N minutes"),
        ("docs/trust/threat-model.md", "once the sign-in is N minutes old"),
    ],
    (ACCOUNTS + "Links/Link.swift", "lifetime: Int64 = N"): [
        ("docs/apps/linking.md", "works for N minutes"),
        ("docs/apps/linking.md", "no `complete` within N minutes"),
        ("docs/apps/upgrade.md", "link ends after N minutes"),
        ("docs/operate/jobs.md", "not completed within N minutes"),
        (DATA, "erased when it ends: within N minutes"),
        ("docs/trust/security.md", "wait: it lasts N minutes"),
        ("docs/trust/privacy.md", "N minutes with a link"),
        (DATA, r'"Already have an account\?"; \*N minutes'),
    ],
    (ACCOUNTS + "Links/Link.swift", "tryLimit = N"): [("docs/apps/linking.md", "N wrong codes end")],
    (ACCOUNTS + "Journal/Maintenance.swift", "links: Int64 = N"): [
        ("docs/apps/linking.md", "for N day, it succeeds"),
        ("docs/apps/upgrade.md", r"repeat `complete`\W+for N day"),
        ("docs/operate/jobs.md", "until N day after"),
        ("docs/openapi.yaml", "For N day, the same code"),
        (DATA, "N day after it"),
    ],
    (ACCOUNTS + "SignIn/ReturnTarget.swift", "maximumLength = N"): [
        ("docs/sites/oauth2-proxy.md", "targets over N bytes"),
    ],
    (ACCOUNTS + "SignIn/KeptName.swift", "lifetime: Int64 = N"): [
        ("docs/trust/privacy.md", "failed sign-in, encrypted; N week"),
    ],
    (ACCOUNTS + "SignIn/CallbackAnswers.swift", r"lifetime: Int64 \{ N", MILLISECONDS): [
        ("docs/contribute/architecture.md", "share one answer, for N s"),
        ("docs/trust/privacy.md", "callback for N seconds"),
    ],
    (ACCOUNTS + "Sessions/Session.swift", r"min\(N,", MILLISECONDS): [
        ("docs/reference/api.md", "`lastSeenAt` may be N minute old"),
    ],
    (WEB + "Pages/DeviceDescription.swift", r"prefix\(N\)"): [(DATA, "at most N bytes")],
    # Retention
    (ACCOUNTS + "Journal/Maintenance.swift", "firstConsent: Int64 = N"): [(DATA, "sign-in completes; at most N days")],
    (ACCOUNTS + "Journal/Maintenance.swift", "usedAttempts: Int64 = N"): [
        ("docs/decisions/0006-sealed-attempts.md", "for N day after"),
        (DATA, "N day beyond"),
        ("docs/trust/privacy.md", "`used_attempt`, for N day"),
    ],
    (ACCOUNTS + "Journal/Maintenance.swift", "revocations: Int64 = N"): [
        ("docs/operate/jobs.md", "[Ll]isted for N days"),
        (DATA, "the row N days"),
        ("docs/trust/privacy.md", "`revocation` for N days"),
    ],
    (ACCOUNTS + "Journal/Maintenance.swift", "consentEnds: Int64 = N"): [
        (DATA, r"before a consent ended; \*N hour"),
        ("docs/trust/privacy.md", "`consent_end` for N hour"),
    ],
    (ACCOUNTS + "Journal/Maintenance.swift", "notificationIdentifiers: Int64 = N"): [(DATA, "N days, the minimum")],
    (ACCOUNTS + "Journal/Maintenance.swift", "events: Int64 = N"): [("docs/apps/events.md", "N days by default")],
    (ACCOUNTS + "Journal/Maintenance.swift", "notifications: Int64 = N"): [("docs/operate/import.md", "within N days")],
    (ACCOUNTS + "Users/AccountRecord.swift", "limit = N"): [
        ("docs/operate/limits.md", "events in an account's export: N"),
        ("docs/reference/api.md", "newest N notifications"),
        ("docs/trust/privacy.md", "newest N notifications"),
    ],
    # Jobs
    (ACCOUNTS + "Credentials/AppleRevocations.swift", "flightTime: Int64 = N"): [
        ("docs/decisions/0020-deletion-beside-a-sign-in.md", "expires after N seconds"),
    ],
    (ACCOUNTS + "Credentials/AppleRevocations.swift", "leaseTime: Int64 = N"): [
        ("docs/operate/several-machines.md", "takes over within N minute"),
    ],
    (ACCOUNTS + "Credentials/CheckPolicy.swift", " interval: Int64 = N"): [
        ("docs/operate/jobs.md", "[Oo]nce N day"),
        ("docs/start/concepts.md", "once N day"),
        ("docs/trust/privacy.md", "once N day"),
        ("docs/trust/threat-model.md", "up to N day later"),
    ],
    (ACCOUNTS + "Credentials/CheckPolicy.swift", "percent = N"): [("docs/operate/jobs.md", "more than N %")],
    (ACCOUNTS + "Credentials/CheckPolicy.swift", "leastDead = N"): [("docs/operate/jobs.md", "at least N,")],
    (ACCOUNTS + "Credentials/CheckPolicy.swift", "exemption: Int64 = N"): [("docs/operate/jobs.md", "next N hours")],
    (ACCOUNTS + "Credentials/CheckPolicy.swift", r"the last one repeats\.\n.*\[N,"): [
        ("docs/operate/jobs.md", "again after N minutes"),
    ],
    (ACCOUNTS + "Credentials/CheckPolicy.swift", r"the last one repeats\.\n.* N\]"): [
        ("docs/operate/jobs.md", "later every N hours"),
    ],
    (ACCOUNTS + "Credentials/Revocations.swift", "lifetime: Int64 = N"): [
        ("docs/operate/incidents.md", "gave up after N days"),
        ("docs/operate/jobs.md", "retries for N days"),
        ("docs/operate/jobs.md", "not revoked within N days"),
        (DATA, "accepts it, at most N days"),
    ],
    (ACCOUNTS + "Webhooks/WebhookSchedule.swift", r"delays: \[N,"): [
        ("docs/apps/events.md", "tries again after N seconds"),
    ],
    (ACCOUNTS + "Webhooks/WebhookSchedule.swift", r"delays: .*, N\]"): [("docs/apps/events.md", "20 and N hours")],
    (ACCOUNTS + "Webhooks/WebhookSchedule.swift", "concurrency: Int = N"): [
        ("docs/apps/events.md", "At most N requests"),
    ],
    (ACCOUNTS + "Webhooks/WebhookSchedule.swift", "longestRetryAfter: Int64 = N", MILLISECONDS): [
        ("docs/apps/events.md", "pauses the endpoint, at most N hour"),
    ],
    (BRAMLEY + "Server/WebhookTransport.swift", "timeout: Int64 = N", MILLISECONDS): [
        ("docs/apps/events.md", "2xx within N seconds"),
        ("docs/openapi.yaml", "answer comes within N seconds"),
    ],
    (ACCOUNTS + "Transfer/TransferRun.swift", "refusalsInARow = N"): [("docs/operate/import.md", "refuses N people")],
    (BRAMLEY + "Commands/Transfer/TransferCommand.swift", "rate = N"): [
        ("docs/operate/import.md", r"requests per second \(N\)"),
    ],
    # Keys and tokens
    (ACCOUNTS + "SignIn/SignIn.swift", "maximumAttemptLifetime: Int64 = N"): [
        ("docs/trust/security.md", "after N minutes"),
    ],
    (ACCOUNTS + "Keys/SigningKeySchedule.swift", "assertionLifetime: Int64 = N"): [
        ("docs/apps/assertion.md", "valid for N minutes"),
        ("docs/apps/assertion.md", "`exp`: N minutes apart"),
        ("docs/apps/assertion.md", "up to N minutes after a person signs out"),
        ("docs/trust/security.md", "its backends for N minutes"),
        ("docs/decisions/0016-signed-assertions.md", "lives for N minutes"),
    ],
    (ACCOUNTS + "Keys/SigningKeySchedule.swift", "cacheLifetime: Int64 = N"): [
        ("docs/apps/assertion.md", "kept for at most N minutes"),
        ("docs/apps/assertion.md", "fetch the keys again, within N minutes"),
    ],
    (ACCOUNTS + "Keys/SigningKeySchedule.swift", "period: Int64 = N"): [
        ("docs/apps/assertion.md", "rotate every N days"),
        ("docs/operate/keys.md", "every N days"),
    ],
    (ACCOUNTS + "Keys/SigningKeySchedule.swift", "publishAhead: Int64 = N"): [
        ("docs/apps/assertion.md", "published N day before"),
        ("docs/decisions/0016-signed-assertions.md", "published N day ahead"),
    ],
    (ACCOUNTS + "Keys/SigningKeySchedule.swift", "retention: Int64 = N"): [
        ("docs/apps/assertion.md", "stays for N hour"),
        ("docs/decisions/0016-signed-assertions.md", "kept N hour after"),
    ],
    (ACCOUNTS + "Keys/SigningKeySchedule.swift", "hurriedAhead: Int64 = N"): [
        ("docs/apps/assertion.md", "key signs in N minutes"),
    ],
    (ACCOUNTS + "Keys/SigningKeySchedule.swift", "verification: Int64 = N"): [
        ("docs/apps/openid.md", "until N days after"),
    ],
    (WEB + "Assertion/AssertionFastPath.swift", "reuse: Int64 = N"): [
        ("docs/apps/assertion.md", "reused for N minute"),
    ],
    (BRAMLEY + "Configuration/Steps/ConfigurationBuilder+Applications.swift", "mostAudiences = N"): [
        ("docs/apps/assertion.md", "up to N:"),
    ],
    ("Sources/Crypto/RSA.swift", "freshBits = N"): [("docs/apps/assertion.md", "N-bit RSA")],
    (BRAMLEY + "Configuration/Values/CertificateJudgement.swift", "bits < N"): [
        ("docs/operate/network.md", "RSA of at least N bits"),
        ("docs/operate/network.md", "RSA below N bits"),
    ],
    (ACCOUNTS + "OpenID/OpenIDProvider.swift", "codeLifetime: Int64 = N"): [
        ("docs/apps/openid.md", "older than N minute"),
        (DATA, r"the code \(N minute"),
        ("docs/trust/threat-model.md", "lasts N minute"),
    ],
    (ACCOUNTS + "OpenID/OpenIDProvider.swift", "accessLifetime: Int64 = N"): [
        ("docs/apps/openid.md", "Access token.* valid for N hour"),
        ("docs/clients/spa.md", "N hour"),
        (DATA, r"the access token \(N hour"),
    ],
    (ACCOUNTS + "OpenID/OpenIDProvider.swift", "refreshLifetime: Int64 = N"): [
        ("docs/apps/openid.md", "N days without use"),
        (DATA, "N days unused"),
    ],
    (ACCOUNTS + "OpenID/OpenIDProvider.swift", "refreshGrace: Int64 = N"): [
        ("docs/apps/openid.md", "for N seconds"),
        ("docs/decisions/0045-openid-provider.md", "for N seconds the same request"),
    ],
    (ACCOUNTS + "OpenID/OpenIDProvider.swift", "markLifetime: Int64 = N"): [
        ("docs/operate/limits.md", "wait for a sign-in.* N hour each"),
        (DATA, r"go through Apple; \*N hour"),
    ],
    (ACCOUNTS + "OpenID/OpenIDGrants.swift", r"authorize_request\"\) < N"): [("docs/operate/limits.md", "wait for a sign-in: N,")],
    (ACCOUNTS + "OpenID/Device.swift", "deviceLifetime: Int64 = N"): [
        ("docs/apps/openid.md", "works once, for N minutes"),
        (DATA, r"waits for a person; \*N minutes"),
    ],
    (ACCOUNTS + "OpenID/IDToken.swift", "lifetime: Int64 = N"): [
        ("docs/apps/openid.md", "ID token.* valid for N minutes"),
    ],
    (ACCOUNTS + "OpenID/Logout.swift", "logoutTokenLifetime: Int64 = N"): [
        ("docs/apps/openid.md", "Logout tokens.* valid for N minutes"),
    ],
    (ACCOUNTS + "OpenID/Consent.swift", "limit = N"): [
        ("docs/apps/openid.md", "may allow N such"), ("docs/trust/threat-model.md", "are stored, N for a person"),
    ],
    (ACCOUNTS + "OpenID/Consent.swift", "decisionLifetime: Int64 = N"): [
        ("docs/trust/threat-model.md", r"session, for N minutes \(\[Consent"),
    ],
    (ACCOUNTS + "OpenID/ClientRegistration.swift", "keepOld: Int64 = N"): [
        ("docs/apps/openid.md", "the old secret works for N days"),
    ],
    (WEB + "API/ClientsAPI.swift", r"\?\? N,"): [("docs/openapi.yaml", "keepOldDays: .*default: N")],
    (WEB + "API/ClientsAPI.swift", r"0\.\.\.N"): [("docs/openapi.yaml", "keepOldDays: .*maximum: N")],
    ("Sources/Crypto/SealingKey.swift", "materialCount = N", 2): [
        ("docs/operate/operating.md", "N hexadecimal digits"),
    ],
    # Apple
    (APPLE + "ClientSecretMint.swift", "useTime: Int64 = N"): [
        ("docs/contribute/architecture.md", "client secret for N minutes"),
        ("docs/start/comparison.md", "made every N minutes"),
    ],
    (APPLE + "ClaimRules.swift", "maximumSkew: Int64 = N"): [
        ("docs/operate/incidents.md", "Beyond N minute"),
        ("docs/operate/limits.md", "off by more than N minute"),
        ("docs/trust/security.md", "off by more than N minute"),
        ("docs/trust/threat-model.md", "correct to N minute"),
    ],
    (APPLE + "KeySetState.swift", "renewalAge: Int64 = N", 0.001): [
        ("docs/decisions/0012-fetching-apples-keys.md", "after N hour"),
    ],
    (APPLE + "KeySetState.swift", "maximumAge: Int64 = N", 0.001): [
        ("docs/decisions/0012-fetching-apples-keys.md", "for N days"),
        ("docs/trust/threat-model.md", "valid for N days"),
    ],
    (APPLE + "KeySetState.swift", "unknownKeyCoolDown: Int64 = N", 0.001): [
        ("docs/decisions/0012-fetching-apples-keys.md", "one fetch N minute"),
        ("docs/trust/threat-model.md", "fetch N minute"),
    ],
    ("Sources/Crypto/JOSE/CompactJWS.swift", "defaultMaximumBytes = N"): [
        ("docs/decisions/0011-jose-rules.md", "at most N KiB"),
    ],
    # The API, lists and commands
    (WEB + "Routes/RouteTable.swift", "api = N"): [("docs/reference/api.md", "limited to N KiB")],
    (WEB + "Routes/RouteTable.swift", r"min\(N,"): [("docs/reference/api.md", "N KiB for sign-ins of apps")],
    (WEB + "API/APIQuery.swift", r"return N \}"): [("docs/reference/api.md", "`limit` .* by default N")],
    (ACCOUNTS + "Users/UserDirectory.swift", "pageSize = N"): [
        ("docs/reference/api.md", "`limit` is 1 to N"),
        (LIMITS, "lists of people: N"),
    ],
    (ACCOUNTS + "Users/UserDirectory.swift", "groupName = N"): [(LIMITS, "a group: N bytes")],
    (ACCOUNTS + "Users/UserDirectory.swift", "groups = N"): [
        ("docs/start/concepts.md", "up to N names"),
        (LIMITS, "N groups for a person"),
    ],
    (ACCOUNTS + "Users/UserDirectory.swift", "externalID = N"): [
        ("docs/operate/import.md", "1 to N bytes"),
        (LIMITS, "an external ID: N bytes"),
    ],
    (ACCOUNTS + "Keys/APIKeys.swift", "nameLimit = N"): [(LIMITS, "an API key: N bytes")],
    (ACCOUNTS + "OpenID/ClientRules.swift", "nameLimit = N"): [(LIMITS, "an application or an API key: N bytes")],
    (ACCOUNTS + "OpenID/ClientRules.swift", "uriLimit = N"): [(LIMITS, "logout URIs: N bytes")],
    (ACCOUNTS + "OpenID/ClientRules.swift", "listLimit = N"): [(LIMITS, "N of each kind")],
    (ACCOUNTS + "OpenID/AuthorizeRequest.swift", "maximumOpaque = N"): [(LIMITS, "`nonce` .*: N bytes")],
    (ACCOUNTS + "OpenID/OpenIDGrants.swift", r'FROM authorize_request"\) < N'): [(LIMITS, "wait for a sign-in: N,")],
    (ACCOUNTS + "SignIn/ReturnTarget.swift", "maximumLength = N"): [(LIMITS, "`return_to`: N bytes")],
    (ACCOUNTS + "SignIn/ReturnTarget.swift", "maximumErrorReturnLength = N"): [(LIMITS, "`error_return`: N bytes")],
    (ACCOUNTS + "OpenID/DeviceStore.swift", "requests = N"): [(LIMITS, "waiting devices: N,")],
    (ACCOUNTS + "OpenID/DeviceStore.swift", "tries = N"): [(LIMITS, "wrong codes of a person, and from an address: N in ten minutes")],
    (ACCOUNTS + "OpenID/Documents/ClientDocument.swift", "maximumSize = N"): [(LIMITS, "client-documents.: N bytes")],
    (ACCOUNTS + "OpenID/Documents/ClientDocuments.swift", "fetchesPerHost = N"): [(LIMITS, "per minute: N from a host")],
    (ACCOUNTS + "OpenID/Documents/ClientDocuments.swift", "fetchesPerMinute = N"): [(LIMITS, "from a host, N in all")],
    (ACCOUNTS + "OpenID/Documents/ClientDocuments.swift", "capacity = N"): [(LIMITS, "have allowed; N in memory")],
    (ACCOUNTS + "OpenID/ServiceRegistration.swift", "static let limit = N"): [(LIMITS, "the scopes of one: N;")],
    (ACCOUNTS + "OpenID/OpenIDClients.swift", "static let limit = N"): [(LIMITS, "a scope's name: N bytes")],
    (WEB + "Routes/RouteTable.swift", "authorize = N"): [(LIMITS, "whole request: N bytes")],
    (WEB + "Verify/AccessRulesFile.swift", "maximumBytes = N"): [(LIMITS, "access rules: N bytes")],
    (WEB + "Verify/AccessRulesFile.swift", "maximumRules = N"): [(LIMITS, "N rules")],
    (WEB + "Pages/SiteLogo.swift", "maximumBytes = N"): [(LIMITS, "`site.logoFile`: N bytes")],
    (WEB + "API/NativeAPI.swift", "maximumCodeSize = N"): [(LIMITS, "identity token: N and")],
    (WEB + "API/NativeAPI.swift", "maximumTokenSize = N"): [(LIMITS, "identity token: .* and N bytes")],
    (WEB + "WebConfiguration.swift", "failedNotificationsPerMinute = N"): [("docs/reference/api.md", "N each; valid")],
    (WEB + "WebConfiguration.swift", "refusedKeysPerMinute = N"): [
        ("docs/reference/api.md", "N each; valid"),
        ("docs/trust/threat-model.md", "N keys a minute"),
    ],
    (HTTP + "Server/StaticFiles.swift", 'versionedCaching = ".*max-age=N,'): [
        ("docs/reference/api.md", "cached for N year"),
    ],
    (HTTP + "Server/StaticFiles.swift", 'plainCaching = ".*max-age=N"'): [
        ("docs/reference/api.md", "otherwise N minutes"),
    ],
    (WEB + "Security/SecurityHeaders.swift", "max-age=N"): [
        ("docs/trust/security.md", "max-age=N"),
        ("docs/trust/threat-model.md", "Transport-Security` for N year"),
    ],
    (BRAMLEY + "Commands/Operator/CommandList.swift", "limit = N"): [("docs/operate/commands.md", "print N rows")],
    (BRAMLEY + "Commands/Operator/CommandList.swift", "maximum = N"): [("docs/operate/commands.md", "up to N\\)")],
    (BRAMLEY + "Commands/EventsCommand.swift", "lines = N"): [("docs/operate/commands.md", r"last N \[events")],
    (BRAMLEY + "Commands/Operator/CommandFailure.swift", r"description, code: N\)"): [
        ("docs/operate/commands.md", "N (?:wrong )?usage"),
    ],
    (BRAMLEY + "Commands/Operator/CommandFailure.swift", "unusableData: Int32 = N"): [
        ("docs/operate/import.md", "N if no line"),
    ],
    (BRAMLEY + "Setup/ConfigurationOutput.swift", "to: path, mode: 0oN"): [
        ("docs/start/getting-started.md", r"`config\.json` \(mode N\)"),
    ],
    (BRAMLEY + "Commands/Users/UsersCommand+Data.swift", "mode: 0oN"): [
        ("docs/operate/commands.md", "creates a file with mode N"),
    ],
    (BRAMLEY + "Import/LineReader.swift", "longestLine = N"): [("docs/operate/import.md", "at most N bytes")],
    (BRAMLEY + "Backup/MigrationBackup.swift", "keptBackups = N"): [("docs/operate/upgrading.md", "keeps the N newest")],
    (BRAMLEY + "Backup/MigrationBackup.swift", r"for: N \* pending"): [("docs/operate/upgrading.md", "N times the")],
    (WEB + "Pages/PageOverrides.swift", "maximumBytes = N"): [("docs/operate/pages.md", "at most N MiB")],
    (WEB + "Operator/OperatorList.swift", "left = N"): [("docs/operate/operator.md", "up to N rows")],
    (WEB + "Operator/OperatorToday.swift", "seen: Int64 = N"): [("docs/operate/operator.md", "not seen for N minutes")],
    (ACCOUNTS + "Administration/OperatorDirectory.swift", "retention: Int64 = N"): [
        ("docs/operate/operator.md", "Sign-ins by hour .* N days"),
        (DATA, "sign-ins; N days"),
    ],
    (ACCOUNTS + "Administration/OperatorDirectory.swift", r"adding\(seconds: -N\)"): [(DATA, "version, times; N day")],
    (BRAMLEY + "Configuration/Configuration.swift", r"admin = .*port: N\)"): [
        ("docs/operate/operating.md", r"127\.0\.0\.1:N\)"),
        ("docs/operate/incidents.md", r"127\.0\.0\.1:N/healthz"),
    ],
    (HTTP + "Server/TrustedProxies.swift", r"bitWidth == 32 \? N : 48"): [
        ("docs/operate/audit-log.md", "/N or /48"),
        ("docs/trust/privacy.md", "/N or /48"),
    ],
    (HTTP + "Server/TrustedProxies.swift", r"bitWidth == 32 \? 24 : N"): [
        ("docs/operate/audit-log.md", "/24 or /N"),
        ("docs/trust/privacy.md", "/24 or /N"),
    ],
    # Connections, memory, time
    (HTTP + "HTTP2/FrameGate.swift", "maximumTokens = N"): [("docs/operate/limits.md", "N, then 33 a second")],
    (HTTP + "HTTP2/FrameGate.swift", "tokensPerSecond: Int64 = N"): [("docs/operate/limits.md", "then N a second")],
    (HTTP + "Server/ServerResponse.swift", "minimumRate: Int64 = N"): [("docs/operate/limits.md", "N KiB a second")],
    (HTTP + "Server/HTTPServer.swift", "write: Int64 = N", MILLISECONDS): [
        ("docs/operate/limits.md", "N s per stream"),
    ],
    (HTTP + "Server/HTTPServer.swift", "parkAfter: Int64 = N", MILLISECONDS): [
        ("docs/contribute/architecture.md", "After N idle second"),
    ],
    (HTTP + "Server/MemoryBudget.swift", "free = N"): [("docs/operate/limits.md", "connection has N KiB")],
    (HTTP + "Server/MemoryBudget.swift", "standard = N"): [("docs/operate/limits.md", "budget of N MiB")],
    (BRAMLEY + "Server/ServerBase.swift", r"N \* server\.limits\.wire\.body"): [
        ("docs/operate/limits.md", "or N times"),
    ],
    (HTTP + "Server/RateLimiter.swift", "capacity: Int = N"): [("docs/operate/limits.md", "rate limit, .* N:")],
    (HTTP + "Server/ServerConnection.swift", "requestsPerTurn = N"): [
        ("docs/contribute/architecture.md", "N requests or"),
    ],
    (SOCKETS + "TCP/SocketStream+Turn.swift", r"bytesPerTurn: Int \{ N"): [
        ("docs/contribute/architecture.md", "requests or N KiB"),
    ],
    (BRAMLEY + "Server/Housekeeping/ClockWatch.swift", "patience: Int64 = N", MILLISECONDS): [
        ("docs/operate/limits.md", "kept for N day"),
    ],
    (STORAGE + "Store/StoreOptions.swift", "busyTimeout: Int = N", MILLISECONDS): [
        ("docs/operate/limits.md", "after N seconds or more"),
    ],
    (STORAGE + "PostgreSQL/PostgresConnection.swift", "PostgreSQL N or later"): [
        ("docs/operate/several-machines.md", "PostgreSQL N or later"),
    ],
    (STORAGE + "PostgreSQL/PostgresWatch.swift", r"idlePause = .*\(N\)", MILLISECONDS): [
        ("docs/operate/several-machines.md", "N s without look-ups"),
    ],
    (BRAMLEY + "Server/Housekeeping/Housekeeping.swift", r"every\(N\) \{ database\.store\.tick", MILLISECONDS): [
        ("docs/contribute/architecture.md", "looks every N ms"),
        ("docs/operate/several-machines.md", "Every N ms"),
    ],
    (STORAGE + "PostgreSQL/PostgresConnection.swift", "var recovery: Int64 = N", MILLISECONDS): [
        ("docs/operate/several-machines.md", "everything else waits up to N s"),
    ],
    (BRAMLEY + "Doctor/Doctor+Database.swift", "largestClockDifference: Int64 = N", MILLISECONDS): [
        ("docs/operate/several-machines.md", "by N second is not ready"),
    ],
    (STORAGE + "Transactions/Pace.swift", r"rows: Pace \{ Pace\(limit: N"): [
        ("docs/decisions/0037-retention.md", "at most N (?:rows|per)"),
    ],
    (SOCKETS + "TLS/TicketKeys.swift", "ticketLifetime = N", 1 / UNITS["hour"]): [
        ("docs/decisions/0031-tls-for-visitors.md", "open for N more"),
    ],
    (SOCKETS + "TLS/TicketKeys.swift", "sealingTime: Int64 = N", MILLISECONDS): [
        ("docs/decisions/0031-tls-for-visitors.md", "seal for N hour"),
    ],
    # Alerts
    (ALERTS, r"BramleyErrors\n[^$]*?> N", PERCENT): [("docs/operate/incidents.md", "More than N % of requests")],
    (ALERTS, r"BramleySignInsFail\n[^$]*?> N", PERCENT): [
        ("docs/operate/incidents.md", "More than N % of sign-ins fail"),
    ],
    (ALERTS, r"BramleyAppleUnreachable\n[^$]*?> N"): [
        ("docs/operate/incidents.md", "More than N of the requests to Apple"),
    ],
    (ALERTS, r"BramleyWebhooksStuck\n[^$]*?> N"): [("docs/operate/incidents.md", "event has waited for N hour")],
    (ALERTS, r"BramleyRevocationsStuck\n[^$]*?> N"): [("docs/operate/incidents.md", "deleted account for N day")],
    (ALERTS, r"BramleyChecksLate\n[^$]*?> N"): [("docs/operate/incidents.md", "checks are N hours late")],
    (ALERTS, r"BramleyDescriptorsShort\n[^$]*?> N", PERCENT): [
        ("docs/operate/incidents.md", "N % of the file descriptors"),
    ],
    (ALERTS, r"BramleyCertificateExpires\n[^$]*?< N"): [("docs/operate/incidents.md", "within N weeks")],
    (ALERTS, r"BramleyStoreSlow\n[^$]*?> N"): [("docs/operate/incidents.md", "commits take more than N second")],
    (ALERTS, r"BramleyLogGrows\n[^$]*?> N"): [("docs/operate/incidents.md", "exceeds N MiB")],
    (ALERTS, r"BramleyDatabaseGrows\n[^$]*?> N"): [("docs/operate/incidents.md", "grew by N GiB")],
    (ALERTS, r"BramleyUserPending\n[^$]*?> N"): [("docs/operate/incidents.md", "for approval for N hour")],
    (ALERTS, r"BramleyClockOff\n[^$]*?> N"): [("docs/operate/incidents.md", "differ by more than N minute")],
    (ALERTS, r"BramleyCountsOld\n[^$]*?> N"): [("docs/operate/incidents.md", "For N hour nothing was counted")],
    # The simulated Apple
    (SIMULATOR + "World/Person.swift", r" Person\("): [
        ("README.md", "one of N people"),
        ("docs/reference/simulator.md", "page with N people"),
    ],
    (SIMULATOR + "World/World.swift", "entries.count > N"): [("docs/reference/simulator.md", "last N events")],
    (SIMULATOR + "World/Grants.swift", r"struct AuthorizationCode[^}]*? lifetime: Int64 = N", MILLISECONDS): [
        ("docs/reference/simulator.md", "once, for N minutes"),
    ],
    (SIMULATOR + "Control/ControlState.swift", r"notifications\.suffix\(N\)"): [
        ("docs/reference/simulator.md", "last N `notifications`"),
    ],
    (SIMULATOR + "Control/ControlPeople.swift", "largestCrowd: Int64 = N"): [
        ("docs/reference/simulator.md", "up to N people"),
    ],
    (SIMULATOR + "Protocol/KeySet.swift", "entries.count > N"): [("docs/reference/simulator.md", "up to N are kept")],
    (SIMULATOR + "Protocol/ClientSecret.swift", "maximumLifetime: Int64 = N"): [
        ("docs/reference/simulator.md", "at most N s ahead"),
    ],
    (SIMULATOR + "Faults/TokenQuirks.swift", "lifetime: Int64 = N"): [("docs/reference/simulator.md", "live N s")],
    (SIMULATOR + "Faults/Fault.swift", "hugeSize = N"): [("docs/reference/simulator.md", r"\(N MiB")],
    # Installing, building, testing
    (UNIT, "WatchdogSec=N"): [("docs/start/install.md", "for N minute")],
    (UNIT, "systemd N or later"): [("docs/start/install.md", "systemd N or later")],
    ("packaging/systemd/bramley-backup.service", "KEEP=N"): [("docs/operate/backup.md", "the newest N")],
    (UNIT, "MemoryMax=NG", 1 << 30): [("docs/operate/limits.md", "`MemoryMax` of N GiB")],
    ("scripts/packages.sh", "Swift N or later"): [
        ("CONTRIBUTING.md", "Swift N"),
        ("README.md", "Swift N"),
        ("docs/start/install.md", "Swift N"),
    ],
    ("Dockerfile", "USER N"): [("docs/start/install.md", "user N can read")],
    ("scripts/demo.sh", "DEMO_PORT:-N"): [
        ("README.md", "localhost:N/>"),
        ("docs/start/getting-started.md", "localhost:N/account"),
    ],
    ("scripts/test.sh", r"CI:\+N", 60): [("CONTRIBUTING.md", "not begun after N minutes")],
    ("scripts/test.sh", "TEST_WORKERS:-N"): [("CONTRIBUTING.md", "TEST_WORKERS=N")],
    ("Makefile", r"SECONDS \?= N"): [("CONTRIBUTING.md", "for N minutes; then Bramley")],
    ("Makefile", "KILL_TEST_ROUNDS=N"): [("CONTRIBUTING.md", "under load, N times")],
    (".swift-format", '"lineLength": N'): [("CONTRIBUTING.md", "N columns")],
    ("Public/strings/*.json", r"\A"): [("README.md", "Pages in N languages")],
    # Examples and recipes
    ("Package.swift", r"\.iOS\(\.vN\)"): [("docs/examples/ios/README.md", "and iOS N or")],
    ("Package.swift", r"\.macOS\(\.vN\)"): [("docs/examples/ios/README.md", "macOS N")],
    (EXAMPLE, "FRESH = N"): [
        ("docs/apps/linking.md", "password more than N minutes ago"),
        ("docs/examples/accounts/README.md", "within N minutes of entering"),
    ],
    (VERIFIER, r"LEEWAY = N,"): [("docs/apps/assertion.md", "kept for at most N minutes")],
    (VERIFIER, r"LEEWAY = \d+, N,"): [("docs/apps/assertion.md", "every N seconds")],
    (VERIFIER, r"LEEWAY = \d+, \d+, N"): [("docs/apps/assertion.md", "N seconds of tolerance")],
    ("docs/examples/flask/app.py", "timeout=N"): [("docs/apps/web-app.md", "nothing within N seconds")],
    (EXAMPLE, "FAILURES_WITHIN = N,"): [("docs/examples/accounts/README.md", "N wrong tries")],
    (EXAMPLE, r"FAILURES_WITHIN = \d+, N"): [("docs/examples/accounts/README.md", "lock a name for N hour")],
    (EXAMPLE, r"CHALLENGE_TRIES = \d+, N"): [("docs/examples/accounts/README.md", "allows N tries")],
    ("docs/examples/cluster/kubernetes.yaml", "replicas: N"): [("docs/examples/cluster/README.md", "N replicas")],
    (RECIPE, 'async-http-client", from: "N'): [("docs/clients/swift.md", "`async-http-client` N")],
    (RECIPE, r'jwt-kit", from: "N\.\d+\.\d+"'): [("docs/clients/swift.md", "`jwt-kit` N")],
    (RECIPE, r'hummingbird", from: "N\.\d+\.\d+"'): [("docs/clients/swift.md", "`hummingbird` N")],
}
