internal import Accounts
internal import AppleID
internal import Coding
internal import HTTP

/// Apple's endpoints, the clock compared with theirs, and Apple's view of our clients.
extension Doctor {
    /// From this difference on the clock is reported as wrong, in milliseconds: half of what token checks tolerate.
    private static let tolerance: Int64 = 30_000

    /// - Parameter known: what the server has learned.
    func apple(_ probe: AppleProbe, _ known: [KeyExperience]) async -> [Diagnosis] {
        let keySet = await probe.keySet()
        let reach = reach(keySet.outcome)
        // An unreachable endpoint is not tried again for each client.
        if case .unreachable = keySet.outcome { return [reach] }
        let clock = clockDifference(keySet.offset)
        var diagnoses = [reach, clock]
        for keyID in probe.keyIDs {
            var answers: [(id: String, answer: ClientProbe)] = []
            for id in [configuration.apple.servicesID] + configuration.apple.bundleIDs {
                let answer = await probe.answer(to: ClientID(id), keyID: keyID)
                answers.append((id, answer))
                // Do not wait again after a timeout.
                if case .unreachable = answer { break }
            }
            let all = answers.map(\.answer)
            let known = known.filter { $0.keyID.isExactly(keyID) }
            let signer = signer(keyID, all, known)
            diagnoses.append(signer)
            guard signer.state != .wrong else { continue }
            for (id, answer) in answers {
                diagnoses.append(
                    client(
                        id, answer, keyID: keyID, all: all, known.first { $0.client.isExactly(id) },
                        isClockWrong: clock.state == .wrong))
            }
        }
        return diagnoses
    }

    private func reach(_ outcome: KeySetProbe.Outcome) -> Diagnosis {
        let endpoint = configuration.apple.endpoint
        switch outcome {
        case .usable(let count): return .good(.appleKeySet, "\(endpoint)/auth/keys answers with \(count) usable keys.")
        case .unusable(let cause):
            return .wrong(
                .appleKeySetUnusable, "\(endpoint) answers, but without keys: \(cause).",
                next: "Fetch \(endpoint)/auth/keys from this machine to see what answers: a filter, a gateway, or "
                    + "Apple itself. Sign-ins keep working for seven days with the last keys.")
        case .unreachable(.tls(let cause)):
            return .wrong(
                .appleTLS, "This machine does not trust the TLS of \(endpoint): \(cause).",
                next:
                    "Install the certificate authorities (Debian package ca-certificates), correct the clock, and make "
                    + "sure that no proxy decrypts the connection to Apple.")
        case .unreachable(let error):
            return .wrong(
                .appleUnreachable, "\(endpoint) does not answer: \(error.words).",
                next: advice(to: endpoint, after: error) + " Nobody can sign in until then.")
        }
    }

    private func advice(to endpoint: String, after error: HTTPClientError) -> String {
        if case .unknownHost(let name) = error {
            return "This machine must resolve the name: getent ahosts \(name) must print addresses. Check "
                + "/etc/resolv.conf, and whether this machine or container may use DNS (port 53)."
        }
        if case .proxy = error {
            return
                "HTTPS_PROXY names an outbound proxy. Allow it to open tunnels to \(endpoint), correct the variable, "
                + "or add the host to NO_PROXY."
        }
        let port = ClientURL(endpoint)?.port ?? 443
        return (configuration.apple.isSimulated ? "Start apple-simulator. " : "")
            + "This machine must reach \(endpoint) on port \(port): curl -v \(endpoint)/auth/keys shows where it fails. "
            + "Check the firewall and the routes."
    }

    private func clockDifference(_ offset: ClockOffset?) -> Diagnosis {
        guard let offset else {
            return .unsure(
                .clockUnknown, "No answer had a Date to compare this machine's clock with.",
                next: "Compare date -u with another clock. With a difference of more than a minute, tokens are refused."
            )
        }
        let seconds = (abs(offset.milliseconds) + 500) / 1000
        let side = offset.milliseconds < 0 ? "behind" : "ahead of"
        let detail = "This machine's clock is \(seconds) s \(side) Apple's."
        guard offset.certainlyExceeds(milliseconds: Self.tolerance) else {
            return .good(.clock, seconds == 0 ? "This machine's clock agrees with Apple's." : detail)
        }
        return .wrong(
            .clockSkewed, detail,
            next: "Run a time service (systemd-timesyncd, chrony) on this machine. With a difference of more than a "
                + "minute, tokens are refused, and Apple may refuse the client secrets.")
    }

    private func signer(_ keyID: String, _ answers: [ClientProbe], _ known: [KeyExperience]) -> Diagnosis {
        for case .unsigned(let cause) in answers { return unsigned(keyID, cause) }
        let signs = "The .p8 contains a working P-256 key"
        if answers.contains(.accepted) { return .good(.appleKey, about: keyID, signs + ", and Apple accepts it.") }
        if answers.contains(where: \.isRefusal) {
            return .unsure(
                .appleKeyRefused, about: keyID, signs + ", but Apple accepts no client with it.",
                next: remedy(ofKey: keyID))
        }
        if let time = known.compactMap(\.provenAt).max() {
            return .good(.appleKey, about: keyID, signs + ", and Apple accepted it at \(time.rfc3339).")
        }
        if let time = known.compactMap(\.refusedAt).max() {
            return .unsure(
                .appleKeyRefused, about: keyID, signs + ", but Apple refused it at \(time.rfc3339).",
                next: remedy(ofKey: keyID))
        }
        return .unsure(
            .appleKeyUnproven, about: keyID, signs + ", but no answer from Apple shows whether it accepts it.",
            next: "Sign in once, then run this again: the server remembers which key Apple accepted.")
    }

    private func client(
        _ id: String, _ answer: ClientProbe, keyID: String, all: [ClientProbe], _ known: KeyExperience?,
        isClockWrong: Bool
    ) -> Diagnosis {
        let about = "\(id) with key \(keyID)"
        switch answer {
        case .accepted: return .good(.client, about: about, "Apple accepts this client and the key.")
        case .codeRefused(let text):
            if let time = known?.provenAt {
                return .good(.client, about: about, "Apple accepted this client and the key at \(time.rfc3339).")
            }
            return .unsure(
                .clientUnproven, about: about,
                "Apple refused the test code (\(text)), not the client. Apple checks the code first, so this proves "
                    + "neither the client nor the key.",
                next: "Sign in once, and look for client_refused in the log.")
        case .clientRefused(let text):
            return .wrong(
                .clientRefused, about: about, "Apple refused this client (\(text)).",
                next: remedy(id, keyID, all, isClockWrong: isClockWrong))
        case .otherRefusal(let text):
            return .unsure(
                .clientUnexpected, about: about, "Apple answered with \(text), which says nothing about the client.",
                next: "Sign in once, and look for client_refused and provider_unavailable in the log.")
        case .noAnswer(let text):
            return .wrong(
                .clientUnanswered, about: about, "The token endpoint gave no valid answer: \(text).",
                next: "Wait a few minutes and run this again: Apple may have a problem, or limit requests. If it "
                    + "persists, find out what answers for \(configuration.apple.endpoint).")
        case .unreachable(let error):
            return .wrong(
                .clientUnanswered, about: about, "The token endpoint did not answer: \(error.words).",
                next: "Run this again. If it persists, check the network between this machine and "
                    + "\(configuration.apple.endpoint).")
        case .unsigned(let cause): return unsigned(keyID, cause)
        }
    }

    private func unsigned(_ keyID: String, _ cause: String) -> Diagnosis {
        .wrong(
            .appleKeyUnusable, about: keyID, "The key cannot sign: \(cause).",
            next: "Use the .p8 file as downloaded from Apple.")
    }

    /// What to fix, likeliest first: a key that works for one client is good; if for none of several, it is at fault.
    private func remedy(_ id: String, _ keyID: String, _ all: [ClientProbe], isClockWrong: Bool) -> String {
        let team = configuration.apple.teamID
        let clock = isClockWrong ? "Correct the clock first. " : ""
        let ofClient =
            "\(id) must be an identifier of team \(team) with Sign in with Apple enabled, grouped with the primary App "
            + "ID of the key"
        if all.contains(.accepted) {
            return clock + "The key is good: Apple accepts it from another client. In Apple's portal, Identifiers: "
                + ofClient + "."
        }
        let isOfKey = all.count > 1 && all.allSatisfy(\.isRefusal)
        return clock + remedy(ofKey: keyID) + (isOfKey ? "" : " Identifiers: " + ofClient + ".")
    }

    private func remedy(ofKey keyID: String) -> String {
        "In Apple's portal, Keys: \(keyID) must exist, not be revoked, and have Sign in with Apple enabled, and the .p8 "
            + "must belong to it. Membership details: the Team ID must be \(configuration.apple.teamID)."
    }
}

/// What a running server has learned of a client and a key, as `/readyz` says it.
struct KeyExperience: Hashable, Sendable {
    let client: String
    let keyID: String
    let acceptedAt: Timestamp?
    let refusedAt: Timestamp?

    init?(_ object: JSONObject?) {
        guard let client = object?["client"]?.stringValue, let keyID = object?["key"]?.stringValue else { return nil }
        self.client = client
        self.keyID = keyID
        acceptedAt = object?["acceptedAt"]?.stringValue.flatMap { Timestamp(rfc3339: $0) }
        refusedAt = object?["refusedAt"]?.stringValue.flatMap { Timestamp(rfc3339: $0) }
    }

    /// When Apple accepted it, if it has not refused it since.
    var provenAt: Timestamp? { acceptedAt.flatMap { time in refusedAt.map { $0 < time } ?? true ? time : nil } }
}

extension ClientProbe {
    fileprivate var isRefusal: Bool { if case .clientRefused = self { true } else { false } }
}

extension HTTPClientError {
    /// The end of a sentence about a server that did not answer within the ten seconds of each request.
    var words: String { if case .timeout = self { "no complete answer within ten seconds" } else { description } }
}
