internal import Accounts

/// One thing that `bramley doctor` examined, and its result.
package struct Diagnosis: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        case good
        /// Nothing is known to be wrong, but something should be checked.
        case unsure
        case wrong
    }

    /// What was examined.
    package enum Check: String, Hashable, Sendable {
        case configuration
        case appleKey = "apple_key"
        case database, server, certificate
        case outboundProxy = "outbound_proxy"
        case appleKeySet = "apple_key_set"
        case clock, client
        case publicURL = "public_url"
        case tls, callback, notifications, cookies, headers, proxy, traffic
        case lastNotification = "last_notification"
        case openIDClient = "openid_client"
    }

    package var check: Check
    package var state: State
    /// Nil when it is fine.
    package var finding: Finding?
    /// What it concerns, where there are several: a client ID, a key of the configuration.
    package var about: String?
    /// One or two sentences. May contain other servers' texts: made safe where it is printed.
    package var detail: String
    /// What to do; present whenever there is a finding.
    package var nextStep: String?

    static func good(_ check: Check, about: String? = nil, _ detail: String) -> Diagnosis {
        Diagnosis(check: check, state: .good, about: about, detail: detail)
    }

    static func unsure(_ finding: Finding, about: String? = nil, _ detail: String, next: String) -> Diagnosis {
        Diagnosis(check: finding.check, state: .unsure, finding: finding, about: about, detail: detail, nextStep: next)
    }

    static func wrong(_ finding: Finding, about: String? = nil, _ detail: String, next: String) -> Diagnosis {
        Diagnosis(check: finding.check, state: .wrong, finding: finding, about: about, detail: detail, nextStep: next)
    }
}

/// The kinds of findings, as in `--json` and docs/reference/doctor.md.
package enum Finding: String, Hashable, Sendable, CaseIterable {
    case configurationRefused = "configuration_refused"
    case configurationDoubtful = "configuration_doubtful"
    case appleKeyUnusable = "apple_key_unusable"
    case appleKeyIDDoubtful = "apple_key_id_doubtful"
    case appleKeyRefused = "apple_key_refused"
    case databaseMissing = "database_missing"
    case databaseUnusable = "database_unusable"
    case databaseClock = "database_clock"
    case databaseNotDurable = "database_not_durable"
    case replicationAsynchronous = "replication_asynchronous"
    case serverNotRunning = "server_not_running"
    case serverNotReady = "server_not_ready"
    case serverElsewhere = "server_elsewhere"
    case certificateDoubtful = "certificate_doubtful"
    case certificateNotShown = "certificate_not_shown"
    case certificateStale = "certificate_stale"
    case appleUnreachable = "apple_unreachable"
    case appleTLS = "apple_tls"
    case appleKeySetUnusable = "apple_key_set_unusable"
    case clockSkewed = "clock_skewed"
    case clockUnknown = "clock_unknown"
    case clientRefused = "client_refused"
    case clientUnproven = "client_unproven"
    case clientUnexpected = "client_unexpected"
    case clientUnanswered = "client_unanswered"
    case publicURLUnreachable = "public_url_unreachable"
    case publicURLUnavailable = "public_url_unavailable"
    case publicURLRedirects = "public_url_redirects"
    case publicURLElsewhere = "public_url_elsewhere"
    case publicURLPathChanged = "public_url_path_changed"
    case publicURLPrivate = "public_url_private"
    case publicURLForTests = "public_url_for_tests"
    case tlsExpired = "tls_certificate_expired"
    case tlsName = "tls_certificate_name"
    case tlsUntrusted = "tls_certificate_untrusted"
    case tlsVersion = "tls_version"
    case tlsFailed = "tls_failed"
    case callbackBlocked = "callback_blocked"
    case notificationsBlocked = "notifications_blocked"
    case notificationsUnlisted = "notifications_unlisted"
    case cookiesRemoved = "cookies_removed"
    case cookiesChanged = "cookies_changed"
    case headersChanged = "headers_changed"
    case proxyUntrusted = "proxy_untrusted"
    case forwardedForMissing = "forwarded_for_missing"
    case forwardedForForgeable = "forwarded_for_forgeable"
    case hostChanged = "host_changed"
    case oneAddress = "one_address"
    case noNotification = "no_notification"
    case notificationRefused = "notification_refused"
    case openIDClientUnusable = "openid_client_unusable"
    case openIDRedirectUnusable = "openid_redirect_unusable"
    case openIDRedirectLocal = "openid_redirect_local"
    case openIDClientRefused = "openid_client_refused"
    case openIDClientUnused = "openid_client_unused"
    case openIDLogoutFailing = "openid_logout_failing"

    package var check: Diagnosis.Check {
        switch self {
        case .configurationRefused, .configurationDoubtful: .configuration
        case .appleKeyUnusable, .appleKeyIDDoubtful, .appleKeyRefused: .appleKey
        case .databaseMissing, .databaseUnusable, .databaseClock, .databaseNotDurable, .replicationAsynchronous:
            .database
        case .serverNotRunning, .serverNotReady, .serverElsewhere: .server
        case .certificateDoubtful, .certificateNotShown, .certificateStale: .certificate
        case .appleUnreachable, .appleTLS, .appleKeySetUnusable: .appleKeySet
        case .clockSkewed, .clockUnknown: .clock
        case .clientRefused, .clientUnproven, .clientUnexpected, .clientUnanswered: .client
        case .publicURLUnreachable, .publicURLUnavailable, .publicURLRedirects, .publicURLElsewhere,
            .publicURLPathChanged, .publicURLPrivate, .publicURLForTests:
            .publicURL
        case .tlsExpired, .tlsName, .tlsUntrusted, .tlsVersion, .tlsFailed: .tls
        case .callbackBlocked: .callback
        case .notificationsBlocked, .notificationsUnlisted: .notifications
        case .cookiesRemoved, .cookiesChanged: .cookies
        case .headersChanged: .headers
        case .proxyUntrusted, .forwardedForMissing, .forwardedForForgeable, .hostChanged: .proxy
        case .oneAddress: .traffic
        case .noNotification, .notificationRefused: .lastNotification
        case .openIDClientUnusable, .openIDRedirectUnusable, .openIDRedirectLocal, .openIDClientRefused,
            .openIDClientUnused, .openIDLogoutFailing:
            .openIDClient
        }
    }
}

extension Diagnosis {
    /// In JSON.
    var members: [FieldValue.Member] {
        [
            ("check", .text(check.rawValue)), ("state", .text(state.rawValue)), ("finding", .text(finding?.rawValue)),
            ("about", .text(about)), ("detail", .text(detail)), ("nextStep", .text(nextStep)),
        ]
    }

    /// What was examined, for a person.
    var subject: String { about.map { "\(check.rawValue) \($0)" } ?? check.rawValue }

    /// For a person: the result, followed by what to do.
    var lines: [String] {
        let mark = (state.rawValue + "  ").prefix(6)
        let first = TerminalText.safe("\(mark)  \(subject): \(detail)")
        guard let nextStep else { return [first] }
        return [first, TerminalText.safe("        next: \(nextStep)")]
    }
}
