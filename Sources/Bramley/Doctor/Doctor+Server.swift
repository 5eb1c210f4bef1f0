internal import Accounts
internal import AppleID
internal import Coding
internal import Crypto
internal import HTTP
internal import HTTPTypes
internal import Sockets
internal import Web

/// The server on this machine, through its admin listener.
extension Doctor {
    /// For the whole answer, in milliseconds.
    private static let timeout: Int64 = 30_000

    static func url(of admin: SocketAddress, _ target: String) -> ClientURL {
        ClientURL(isSecure: false, host: "\(ownAddress(of: admin))", port: admin.port, target: target)
    }

    /// A listener on every address answers on this machine's own.
    static func ownAddress(of listener: SocketAddress) -> IPAddress {
        switch listener.ip {
        case .v4(0): .v4(0x7F00_0001)
        case .v6(0, 0): .v6(0, 1)
        default: listener.ip
        }
    }

    /// - Returns: also what the server has learned of each client and key at Apple.
    func server() async -> ([Diagnosis], [KeyExperience]) {
        let (diagnoses, checks) = await ready()
        return (diagnoses, checks.flatMap { $0["keys"]?.arrayValue ?? [] }.compactMap { KeyExperience($0.objectValue) })
    }

    private func ready() async -> ([Diagnosis], [JSONObject]) {
        let url = Self.url(of: configuration.admin, "/readyz")
        let place = "\(url.host):\(url.port)"
        let pass = pass
        var fields: HTTPFields = [.accept: "application/json"]
        if let pass { fields[Inspection.field] = pass }
        // A server whose database is locked answers after two writes have waited for the lock: one under way, and its own.
        var request = ClientRequest(
            method: .get, url: url, fields: fields, timeout: Self.timeout, maximumBodySize: 16_384)
        request.cutsLongBody = true
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await transport.send(request)
        } catch {
            if case .malformed = error { return ([elsewhere(place, "what answers there does not speak HTTP")], []) }
            let missing = Diagnosis.wrong(
                .serverNotRunning, "Nothing answers on admin.host and admin.port, \(place): \(error.words).",
                next: "Start bramley serve with this configuration, or run bramley doctor \(surroundings.beside).")
            return ([missing], [])
        }
        let status = response.status.code
        guard let object = (try? JSONReader.parse(response.body))?.objectValue,
            let verdict = object["status"]?.stringValue, let list = object["checks"]?.arrayValue
        else { return ([elsewhere(place, "it answers /readyz with status \(status) and without checks")], []) }
        let checks = list.compactMap(\.objectValue)
        if let keyring, let pass {
            let proof = response.fields[values: Inspection.field]
            guard proof.count == 1, InspectionPass.isAnswer(proof[0], to: pass, with: keyring) else {
                return ([elsewhere(place, "it does not prove that it has this server's sealing key")], [])
            }
        }
        let problems = checks.compactMap { $0["problem"]?.stringValue }
        guard status == 200, verdict.isExactly("ready"), problems.isEmpty else {
            let unready = Diagnosis.wrong(
                .serverNotReady,
                "The server on \(place) says: \(verdict): \(problems.joined(separator: "; ")) (status \(status)).",
                next: "Check the server's log. \(configuration.storage.advice)")
            return ([unready], checks)
        }
        let good = Diagnosis.good(.server, "The server on \(place) is ready: it writes to its database.")
        return ([good] + checks.compactMap(refusal), checks)
    }

    private func elsewhere(_ place: String, _ why: String) -> Diagnosis {
        .wrong(
            .serverElsewhere, "Something answers on admin.host and admin.port, \(place), but not this server: \(why).",
            next:
                "See what listens there: ss -ltnp. If it is another program or another Bramley, give this server its own "
                + "admin.port. If it is this server, restart it: it has another sealing key, an older version, or a clock "
                + "that is minutes off.")
    }

    /// A notification that the server refused, for an app that is not configured.
    private func refusal(in check: JSONObject) -> Diagnosis? {
        guard check["name"]?.stringValue?.isExactly("notifications") == true,
            let warning = check["warning"]?.stringValue,
            // The configuration's check already reports an empty key.
            !configuration.apple.bundleIDs.isEmpty || !warning.contains("will be refused")
        else { return nil }
        return .wrong(
            .notificationRefused, warning + ".",
            next: "If that app is your team's primary App ID, or an app grouped with it, add it to apple.bundleIDs and "
                + "restart bramley serve. Never add another team's app: its owner could sign in here.")
    }
}

/// Whether this machine's listener serves the certificate in the files. Whether browsers trust it shows at publicURL.
extension Doctor {
    /// Nothing when a proxy has the certificate.
    func certificate() async -> Diagnosis? {
        guard let tls = configuration.server.tls, let leaf = try? CertificateChain(pem: tls.certificate).leaf else {
            return nil
        }
        let now = clock.now()
        let words =
            "\(leaf.names.joined(separator: ", ")), valid for \(CertificateJudgement.left(of: leaf, at: now)) more "
            + "(until \(Timestamp(seconds: leaf.notAfter).rfc3339))"
        guard !configuration.server.proxyProtocol else {
            return .good(
                .certificate,
                "The files hold a certificate for \(words). The listener was not tested: it expects "
                    + "the PROXY protocol.")
        }
        let listener = configuration.server.listener
        let host = Self.ownAddress(of: listener)
        let place = "\(host):\(listener.port)"
        let shown: [UInt8]
        do throws(StreamError) {
            shown = try await fetch(at: SocketAddress(ip: host, port: listener.port))
        } catch {
            return .wrong(
                .certificateNotShown, "No TLS on server.host and server.port, \(place): \(error).",
                next: "Start bramley serve, or restart it: it may have started without the certificate.")
        }
        guard shown == leaf.der else {
            let other = CertificateSummary(der: shown)
            let until =
                other.map {
                    " (for \($0.names.joined(separator: ", ")), until "
                        + "\(Timestamp(seconds: $0.notAfter).rfc3339))"
                } ?? ""
            return .wrong(
                .certificateStale,
                "The listener on \(place) uses another certificate\(until) than the files, which hold one for \(words).",
                next:
                    "If they were just renewed, run doctor again. Otherwise find \"certificate not reloaded\" in "
                    + "the server's log, which says why.")
        }
        return .good(.certificate, "The listener on \(place) uses the certificate of the files, for \(words).")
    }

    private func fetch(at address: SocketAddress) async throws(StreamError) -> [UInt8] {
        let host = configuration.web.publicURL.host
        return try await withTaskExecutorPreference(loop) { [loop] () async throws(StreamError) in
            try await TLSContext.certificate(
                at: address, serverName: host, on: loop, deadline: Deadline.now.adding(milliseconds: 10_000))
        }
    }
}
