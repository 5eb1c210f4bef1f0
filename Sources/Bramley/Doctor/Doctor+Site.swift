internal import AppleID
internal import Coding
internal import HTTP
internal import HTTPTypes
internal import Sockets
internal import Web

/// The way from publicURL to the server, which visitors and Apple use.
extension Doctor {
    /// The size of Apple's post, for the proxy: a code and an identity token, some kilobytes.
    private static let callbackSize = 4096

    /// After an untrusted certificate it goes on without verifying it: nothing secret is sent, and each answer says so.
    func site() async -> [Diagnosis] {
        let url = configuration.web.publicURL
        let reach = [await reach()].compactMap(\.self)
        do throws(HTTPClientError) {
            let response = try await ask(.get, "/login")
            let tls = "TLS 1.2 or later, with a certificate for \(url.host) that this machine trusts."
            return reach + (url.isSecure ? [.good(.tls, tls)] : []) + (await examine(response))
        } catch {
            let found = reach + [Self.unreachable(url, error, holdsCertificate: configuration.server.tls != nil)]
            var credulous = self
            credulous.transport = unverified
            guard case .tls = error, let response = try? await credulous.ask(.get, "/login") else { return found }
            return found
                + (await credulous.examine(response)).map { diagnosis in
                    var marked = diagnosis
                    marked.detail += " The certificate was not verified for this."
                    return marked
                }
        }
    }

    private func examine(_ response: ClientResponse) async -> [Diagnosis] {
        let url = configuration.web.publicURL
        guard let report = report(in: response) else { return [stranger(response)].compactMap(\.self) }
        guard report.path.isExactly(url.basePath + "/login") else {
            return [
                .wrong(
                    .publicURLPathChanged, "\(url.absolute)/login arrives as \(report.path).",
                    next: "Make the proxy pass on the path unchanged, or correct publicURL.")
            ]
        }
        var diagnoses = [Diagnosis.good(.publicURL, "\(url.absolute) leads to this Bramley.")]
        diagnoses += await posts()
        diagnoses += cookies(response, report)
        diagnoses.append(headers(response, report))
        let forged = try? await ask(.get, "/login", [KnownField.xForwardedFor.name: Self.forgedAddress])
        return diagnoses + proxy(report, forged: forged.flatMap { self.report(in: $0) })
    }

    private func ask(
        _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = HTTPFields(), body: [UInt8] = []
    ) async throws(HTTPClientError) -> ClientResponse {
        guard let url = ClientURL(configuration.web.publicURL.absolute + path) else {
            throw .malformed("publicURL is not a valid address")
        }
        var fields = fields
        if let pass { fields[Inspection.field] = pass }
        fields[.cookie] = Inspection.cookieField(of: configuration.web)
        var request = ClientRequest(method: method, url: url, fields: fields, body: body, maximumBodySize: 65_536)
        request.cutsLongBody = true
        return try await transport.send(request)
    }

    private func report(in response: ClientResponse) -> InspectionReport? {
        guard keyring != nil, response.status.code == 200 else { return nil }
        return InspectionReport(parsing: response.body)
    }

    private func reach() async -> Diagnosis? {
        let url = configuration.web.publicURL
        guard !url.isForTests else {
            // It must be local with a simulated Apple.
            if configuration.apple.isSimulated { return nil }
            return .unsure(
                .publicURLForTests, "publicURL is \(url.absolute), which only this machine can reach.",
                next: "For the real Apple and for visitors, set publicURL to a public https address.")
        }
        guard let port = ClientURL(url.absolute)?.port else { return nil }
        let addresses = await withTaskExecutorPreference(loop) { [loop] in
            await Resolver().resolve(
                url.host, port: port, on: loop, deadline: Deadline.now.adding(milliseconds: 10_000))
        }
        guard !addresses.isEmpty, !addresses.contains(where: \.ip.isPublic) else { return nil }
        let list = addresses.map(\.ip.description).joined(separator: ", ")
        return .unsure(
            .publicURLPrivate, "\(url.host) resolves to \(list) here, which is not reachable from the Internet.",
            next: "If it is the same outside, Apple's notifications never arrive: correct the DNS. If it differs "
                + "outside, that is fine, but the findings below do not tell whether it works from outside.")
    }

    /// An answer that is not this Bramley's; nil when unknown.
    private func stranger(_ response: ClientResponse) -> Diagnosis? {
        let url = configuration.web.publicURL.absolute
        let status = response.status.code
        switch status {
        case 300..<400:
            return .wrong(
                .publicURLRedirects, "\(url)/login redirects to \(response.fields[.location] ?? "nowhere").",
                next: "Set publicURL to the address at which Bramley itself answers. Apple posts there and does not "
                    + "follow redirects.")
        case 500..<600:
            return .wrong(
                .publicURLUnavailable, "\(url) answers with status \(status), so the proxy does not reach Bramley.",
                next: "Start bramley serve, and make the proxy pass requests to "
                    + "\(surroundings.target(configuration.server.listener)).")
        default:
            guard keyring != nil else { return nil }
            return .wrong(
                .publicURLElsewhere, "\(url)/login answers with status \(status), but not from this Bramley.",
                next:
                    "Make the proxy pass every path of publicURL to this server, without its own login or cache. If it "
                    + "does, that server has another sealing key, an older version, or a clock that is minutes off.")
        }
    }

    private func posts() async -> [Diagnosis] {
        let form = "state=doctor&code=doctor&id_token="
        let filled = form + String(repeating: "x", count: Self.callbackSize - form.utf8.count)
        let url = configuration.web.publicURL
        return [
            await post(
                "/apple/callback", filled,
                [.contentType: "application/x-www-form-urlencoded", .origin: configuration.apple.endpoint],
                .callbackBlocked, "\(url.callbackURL) receives Apple's form as a browser sends it.",
                "Make the proxy pass POST to /apple/callback with any Origin, without its own login, filter or "
                    + "limit. Nobody can sign in until then."),
            await post(
                "/apple/notifications", #"{"payload":"doctor"}"#, [.contentType: "application/json"],
                .notificationsBlocked, "Posts to \(url.notificationURL) arrive complete.",
                "Make the proxy pass POST to /apple/notifications without its own login, filter or list of "
                    + "addresses: Apple publishes none. Until then, people who withdraw their consent stay signed in."),
        ]
    }

    private func post(
        _ path: String, _ text: String, _ fields: HTTPFields, _ finding: Finding, _ good: String, _ remedy: String
    ) async -> Diagnosis {
        let body = Array(text.utf8)
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await ask(.post, path, fields, body: body)
        } catch {
            return .wrong(finding, "POST to \(path) gets no answer: \(error.words).", next: remedy)
        }
        guard let report = report(in: response) else {
            return .wrong(
                finding, "POST to \(path) gets status \(response.status.code) and does not arrive.", next: remedy)
        }
        guard report.method.isExactly("POST"), report.content == Int64(body.count),
            report.path.isExactly(configuration.web.publicURL.basePath + path)
        else {
            return .wrong(
                finding,
                "POST to \(path) arrives as \(report.method) to \(report.path) with \(report.content) of "
                    + "\(body.count) bytes.",
                next: remedy)
        }
        return .good(finding.check, good)
    }

    private func cookies(_ response: ClientResponse, _ report: InspectionReport) -> [Diagnosis] {
        let remedy =
            "Make the proxy pass on Cookie and Set-Cookie unchanged, for every path of publicURL: no cache, no "
            + "rewriting of names, paths, domains or SameSite."
        let received = response.fields[values: .setCookie]
        var removed: [String] = []
        var changed: [String] = []
        for field in report.fields where field.name == "set-cookie" && !received.contains(field.value) {
            let name = String(field.value.prefix { $0 != "=" })
            if let other = received.first(where: { $0.hasPrefix(name + "=") }) {
                changed.append("\(field.value) arrives as \(other)")
            } else {
                removed.append(name)
            }
        }
        var diagnoses: [Diagnosis] = []
        let unsent = Inspection.cookieNames(of: configuration.web).filter { !report.cookies.contains($0) }
        if !removed.isEmpty || !unsent.isEmpty {
            let ways = [removed.isEmpty ? nil : "from answers", unsent.isEmpty ? nil : "from requests"]
            diagnoses.append(
                .wrong(
                    .cookiesRemoved, "Cookies are removed \(ways.compactMap(\.self).joined(separator: " and ")).",
                    next: remedy))
        }
        if !changed.isEmpty {
            diagnoses.append(.wrong(.cookiesChanged, changed.joined(separator: "; ") + ".", next: remedy))
        }
        return diagnoses.isEmpty ? [.good(.cookies, "Cookies pass unchanged in both directions.")] : diagnoses
    }

    /// Fields without which pages do not work as intended: caching, scripts, forms, Apple's window.
    private static let kept = [
        "Cache-Control", "Content-Security-Policy", "Referrer-Policy", "Cross-Origin-Opener-Policy",
    ]
    .compactMap { HTTPField.Name($0) }

    private func headers(_ response: ClientResponse, _ report: InspectionReport) -> Diagnosis {
        let changed = Self.kept.filter { name in
            response.fields[values: name] != report.fields.filter { $0.name == name.canonicalName }.map(\.value)
        }
        guard !changed.isEmpty else { return .good(.headers, "Response fields arrive unchanged.") }
        let list = changed.map { "\($0.rawName): \(response.fields[values: $0].joined(separator: ", "))" }
        return .wrong(
            .headersChanged, "The proxy changes response fields: \(list.joined(separator: "; ")).",
            next: "Remove these from the proxy's configuration for publicURL: Bramley sets its own for each page. A "
                + "second one breaks Apple's button, forms or the popup.")
    }
}
