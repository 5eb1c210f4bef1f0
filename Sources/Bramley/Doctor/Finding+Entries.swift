extension Finding {
    /// What a finding means in general; where it is made, it says what to do on this machine.
    struct Entry: Hashable, Sendable {
        let check: Diagnosis.Check
        /// Other states are in the meaning.
        let state: Diagnosis.State
        /// Markdown with the links of docs/reference.
        let meaning: String

        fileprivate static func wrong(_ check: Diagnosis.Check, _ meaning: String) -> Entry {
            Entry(check: check, state: .wrong, meaning: meaning)
        }

        fileprivate static func unsure(_ check: Diagnosis.Check, _ meaning: String) -> Entry {
            Entry(check: check, state: .unsure, meaning: meaning)
        }
    }

    var entry: Entry {
        switch self {
        case .configurationRefused: .wrong(.configuration, "it is invalid; nothing else was tested")
        case .configurationDoubtful: .unsure(.configuration, "a warning of `bramley check`")
        case .appleKeyUnusable: .wrong(.appleKey, "the `.p8` is missing, unreadable, or not a P-256 key")
        case .appleKeyIDDoubtful: .unsure(.appleKey, "the file name has another key ID than `apple.keyID`")
        case .appleKeyRefused: .unsure(.appleKey, "Apple refuses every client with it: revoked, or another team's?")
        case .appleKeyUnproven: .unsure(.appleKey, "Apple's answers do not show whether it accepts the key")
        case .databaseMissing: .wrong(.database, "there is none in `storage.directory`")
        case .databaseUnusable:
            .wrong(
                .database,
                "permissions, another sealing key or version, damage, or a PostgreSQL schema that others may change")
        case .databaseClock: .wrong(.database, "this clock and PostgreSQL's differ by a second or more")
        case .databaseNotDurable: .wrong(.database, "PostgreSQL confirms writes that a crash may undo")
        case .replicationAsynchronous: .unsure(.database, "a standby that takes over may lack the last writes")
        case .serverNotRunning: .wrong(.server, "`admin.host` and `admin.port` do not answer")
        case .serverNotReady: .wrong(.server, "it cannot write, or is stopping")
        case .serverElsewhere:
            .wrong(.server, "another program answers, or a Bramley of another version or sealing key")
        case .certificateDoubtful: .unsure(.certificate, "a warning of `bramley check`")
        case .certificateNotShown: .wrong(.certificate, "no TLS on `server.host` and `server.port`")
        case .certificateStale: .wrong(.certificate, "the server's differs from the files'; its log says why")
        case .appleUnreachable: .wrong(.appleKeySet, "`apple.endpoint` does not answer: DNS, firewall, routes")
        case .appleTLS:
            .wrong(.appleKeySet, "its certificate is not trusted here: roots, clock, TLS inspection")
        case .appleKeySetUnusable: .wrong(.appleKeySet, "no usable keys; the last ones work for seven days")
        case .clockSkewed: .wrong(.clock, "half a minute or more from Apple's; sign-ins fail from a minute")
        case .clockUnknown: .unsure(.clock, "no answer from Apple had a date")
        case .clientRefused:
            .wrong(
                .client,
                "Apple refuses it. If all: Team ID, key ID or `.p8`. If one: it is another team's, lacks Sign in with "
                    + "Apple, or is not grouped with the key's App ID"
            )
        case .clientUnproven: .unsure(.client, "Apple rejected only the made-up code")
        case .clientUnexpected: .unsure(.client, "Apple rejected the request with another error")
        case .clientUnanswered: .wrong(.client, "Apple answered 5xx, 429, HTML or nothing")
        case .publicURLUnreachable: .wrong(.publicURL, "no DNS or no answer; hairpin NAT if it works from outside")
        case .publicURLUnavailable: .wrong(.publicURL, "it answers 5xx: the proxy does not reach Bramley")
        case .publicURLRedirects: .wrong(.publicURL, "it redirects; Apple does not follow")
        case .publicURLElsewhere:
            .wrong(.publicURL, "something else answers: a login, a cache, another site or sealing key")
        case .publicURLPathChanged: .wrong(.publicURL, "the proxy changes the path")
        case .publicURLPrivate: .unsure(.publicURL, "it resolves to a private address here")
        case .publicURLForTests: .unsure(.publicURL, "it is localhost or `.test`, with the real Apple")
        case .tlsExpired: .wrong(.tls, "the certificate has expired")
        case .tlsName: .wrong(.tls, "the certificate is for other names")
        case .tlsUntrusted: .wrong(.tls, "a private authority, missing intermediates, or not valid yet")
        case .tlsVersion: .wrong(.tls, "no TLS 1.2")
        case .tlsFailed: .wrong(.tls, "no TLS on that port, or no common cipher (ECDHE with AES-GCM or ChaCha20)")
        case .callbackBlocked:
            .wrong(
                .callback,
                "Apple's form does not arrive whole: a login, filter, size limit or Origin check on `/apple/callback`")
        case .notificationsBlocked:
            .wrong(.notifications, "Apple's notifications do not arrive whole, for the same reasons")
        case .notificationsUnlisted:
            .wrong(
                .notifications,
                "`apple.bundleIDs` is empty: Apple's notifications will be refused; unsure with a simulated Apple")
        case .cookiesRemoved: .wrong(.cookies, "the proxy removes `Cookie` or `Set-Cookie`")
        case .cookiesChanged: .wrong(.cookies, "the proxy changes names or attributes of cookies")
        case .headersChanged:
            .wrong(
                .headers,
                "the proxy sets `Cache-Control`, `Content-Security-Policy`, `Referrer-Policy` or "
                    + "`Cross-Origin-Opener-Policy`")
        case .proxyUntrusted: .wrong(.proxy, "the proxy is not in `server.trustedProxies`")
        case .forwardedForMissing: .wrong(.proxy, "the proxy does not set `X-Forwarded-For`")
        case .forwardedForForgeable: .wrong(.proxy, "the proxy passes on the `X-Forwarded-For` that clients send")
        case .hostChanged: .unsure(.proxy, "the proxy sends another host than `publicURL`'s")
        case .oneAddress:
            .wrong(
                .traffic,
                "all sign-in pages of the last two hours went to one address; unsure if it is public")
        case .noNotification:
            .unsure(
                .lastNotification,
                "a daily check found a dead token, and no notification has come since; a changed password has the "
                    + "same effect"
            )
        case .notificationRefused:
            .wrong(
                .lastNotification,
                "it was for an [unlisted app](../apps/events.md#notifications-for-unlisted-apps)")
        case .openIDClientUnusable:
            .wrong(
                .openIDClient,
                "its ID is an `assertion.audience`, or it breaks another rule: treated as unknown")
        case .openIDRedirectUnusable: .wrong(.openIDClient, "its redirect URI is a page of Bramley's")
        case .openIDRedirectLocal:
            .unsure(
                .openIDClient, "its redirect URI is on `localhost`, though it has a secret: fine on your own machine")
        case .openIDClientRefused:
            .wrong(.openIDClient, "it last sent a wrong secret, or one that a public client does not have")
        case .openIDClientUnused: .unsure(.openIDClient, "a day after it was registered, it has no token yet")
        case .openIDLogoutFailing:
            .wrong(.openIDClient, "it does not accept [logout tokens](../apps/openid.md#back-channel-logout)")
        }
    }
}
