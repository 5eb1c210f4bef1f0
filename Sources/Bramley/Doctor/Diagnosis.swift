internal import Accounts

package struct Diagnosis: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        case good
        /// Nothing is known to be wrong, but something should be checked.
        case unsure
        case wrong
    }

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
    package var finding: Finding?
    /// What it concerns, where there are several: a client ID, a key of the configuration.
    package var about: String?
    /// One or two sentences. May contain other servers' texts: made safe where it is printed.
    package var detail: String
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

    var members: [FieldValue.Member] {
        [
            ("check", .text(check.rawValue)), ("state", .text(state.rawValue)), ("finding", .text(finding?.rawValue)),
            ("about", .text(about)), ("detail", .text(detail)), ("nextStep", .text(nextStep)),
        ]
    }

    var subject: String { about.map { "\(check.rawValue) \($0)" } ?? check.rawValue }

    var lines: [String] {
        let mark = (state.rawValue + "  ").prefix(6)
        let first = TerminalText.safe("\(mark)  \(subject): \(detail)")
        guard let nextStep else { return [first] }
        return [first, TerminalText.safe("        next: \(nextStep)")]
    }
}
