import Coding
import HTTP
import RelyingParty
import Sockets
import Web

/// Turns looked-up values into a `Configuration`, section by section. A section with a problem gives nil and the next is
/// read all the same, so that one run finds everything.
struct ConfigurationBuilder {
    let values: ConfigurationValues
    let allowsSimulatedApple: Bool
    /// What certificates are judged by.
    let now: Timestamp
    /// The whole of it.
    let environment: [String: String]

    func build() -> Configuration? {
        let publicURL = publicURL()
        let signUp = values.choice("access.signUp", SignUpPolicy.self)
        let server = server(publicURL)
        let admin = listener("admin")
        let apple = apple(publicURL)
        let login = login(publicURL)
        let forward = forwardAuth(server)
        let api = api()
        let button = button()
        let site = site(publicURL)
        let pages = pages()
        let sessions = sessions(publicURL)
        let storage = storage()
        let secrets = secrets(storage)
        let retention = retention()
        let assertion = assertion(apple)
        let webhooks = webhooks()
        let upgrade = upgrade()
        let log = log()
        let wayOut = wayOut()
        checkPorts(server, admin)
        guard let publicURL, let signUp, let server, let admin, let apple, let login, let forward, let api, let button,
            let site, let pages, let sessions, let storage, let secrets, let retention, let assertion, let webhooks,
            let upgrade, let log, let wayOut
        else { return nil }
        return Configuration(
            publicURL: publicURL, access: .init(signUp: signUp), server: server, admin: admin, apple: apple,
            login: login,
            forwardAuth: forward, api: api, button: button, site: site, pages: pages, sessions: sessions,
            storage: storage, secrets: secrets, retention: retention, assertion: assertion, webhooks: webhooks.value,
            upgrade: upgrade.value, log: log, wayOut: wayOut)
    }

    /// The proxy that the environment names by the usual convention; nil after a problem.
    private func wayOut() -> ProxySettings? {
        do throws(ProxySettingsError) {
            return try ProxySettings(environment: environment)
        } catch {
            let words = "\(error)".dropFirst(error.variable.count + 1)
            values.problems.add(
                ConfigurationProblem(
                    key: "", source: error.variable, fault: "\(words).",
                    remedy: "Write http://host:port, or unset it to reach other servers directly."))
            return nil
        }
    }

    static func withoutSlash(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    // MARK: publicURL

    func publicURL() -> PublicURL? {
        guard let text = values.text("publicURL"), let address = address("publicURL", text) else { return nil }
        if address.scheme == "http", !address.isLocal {
            values.fail(
                "publicURL", "is \(text.quoted), without TLS.",
                "Begin it with https://; http is for localhost, 127.0.0.1 and .localhost only.")
            return nil
        }
        if address.isIPAddress, !address.isLocal {
            values.fail("publicURL", "names an IP address, which Apple refuses.", "Write a domain name.")
            return nil
        }
        if !address.host.contains("."), !WebAddress.isForTests(address.host), !allowsSimulatedApple {
            values.fail(
                "publicURL", "names the host \(address.host.quoted), which is no whole domain name: Apple refuses it.",
                "Write the whole name, such as \"https://\(address.host).example.com\".")
            return nil
        }
        if address.path.hasSuffix("/") {
            values.fail("publicURL", "ends in a slash.", "Write \(Self.withoutSlash(text).quoted).")
            return nil
        }
        let segments = address.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let safe = { (segment: Substring) in
            !segment.isEmpty && segment != "." && segment != ".."
                && segment.utf8.allSatisfy { byte in
                    (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte)
                        || "-._~".utf8.contains(byte)
                }
        }
        guard segments.allSatisfy(safe) else {
            values.fail("publicURL", "has a path that is not plain.", "Write letters, digits, - . _ ~ between slashes.")
            return nil
        }
        return PublicURL(text)
    }

    /// The address taken apart, or nil and a problem.
    func address(_ key: String, _ text: String, isEndpoint: Bool = false) -> WebAddress? {
        do throws(WebAddress.Flaw) {
            return try WebAddress.parse(text, isEndpoint: isEndpoint)
        } catch {
            let shown = isEndpoint ? WebhookEndpoint.name(of: text) : text
            values.fail(key, "\(shown.quoted) \(error.fault)", error.remedy)
            return nil
        }
    }

    // MARK: server, admin, log

    private func listener(_ group: String) -> Configuration.Listener? {
        let host = values.text("\(group).host")
        let port = values.integer("\(group).port")
        guard let host else { return nil }
        guard let address = IPAddress(host) else {
            values.fail(
                "\(group).host", "is \(host.quoted), which is no address.",
                "Write an IPv4 or IPv6 address such as 127.0.0.1 or ::1 (without brackets); 0.0.0.0 or :: for all.")
            return nil
        }
        return port.map { Configuration.Listener(host: address, port: UInt16(clamping: $0)) }
    }

    private func server(_ publicURL: PublicURL?) -> Configuration.Server? {
        let listener = listener("server")
        let threads = values.integer("server.threads")
        let drain = values.integer("server.drainTimeout")
        let proxies = trustedProxies()
        let limits = limits()
        let tls = tls(publicURL, proxies: proxies)
        let redirect = redirectPort(publicURL, server: listener)
        let proxyProtocol = proxyProtocol(proxies)
        guard let listener, let threads, let drain, let proxies, let limits, let tls, let redirect, let proxyProtocol
        else { return nil }
        return Configuration.Server(
            listener: listener, threads: threads, tls: tls.value, redirectPort: redirect.value,
            trustedProxies: proxies, proxyProtocol: proxyProtocol, drainTimeout: drain, limits: limits)
    }

    private func trustedProxies() -> [IPNetwork]? {
        guard let texts = values.list("server.trustedProxies") else { return nil }
        var networks: [IPNetwork] = []
        for text in texts {
            guard let network = IPNetwork(text) else {
                values.fail(
                    "server.trustedProxies", "names \(text.quoted), which is neither an address nor a network.",
                    "Write 10.0.0.7, or 10.0.0.0/8 with no bits set beyond the prefix.")
                continue
            }
            if network.prefixLength == 0 {
                values.fail(
                    "server.trustedProxies",
                    "names \(text.quoted), which is everybody: any client could then forge its address.",
                    "Write the proxy's own address.")
                continue
            }
            networks.append(network)
        }
        return networks.count == texts.count ? networks : nil
    }

    private func limits() -> Configuration.Limits? {
        let names = [
            "requestLine", "headerBlock", "fieldCount", "body", "connections", "connectionsPerAddress",
            "handshakeTimeout", "headerTimeout", "bodyTimeout", "writeTimeout", "idleTimeout", "credentialChecks",
            "upgradesPerMinute", "upgradesPerAccount", "signInsPerMinute", "exportsPerMinute",
        ]
        let found = names.map { values.integer("server.limits.\($0)") }
        let all = found.compactMap { $0 }
        guard all.count == names.count else { return nil }
        return Configuration.Limits(
            requestLine: all[0], headerBlock: all[1], fieldCount: all[2], body: all[3], connections: all[4],
            connectionsPerAddress: all[5], handshakeTimeout: all[6], headerTimeout: all[7], bodyTimeout: all[8],
            writeTimeout: all[9], idleTimeout: all[10], credentialChecks: all[11], upgradesPerMinute: all[12],
            upgradesPerAccount: all[13], signInsPerMinute: all[14], exportsPerMinute: all[15])
    }

    /// Two listeners cannot share an address and port.
    private func checkPorts(_ server: Configuration.Server?, _ admin: Configuration.Listener?) {
        guard let server, let admin else { return }
        let listener = server.listener
        let name: String
        switch admin.port {
        case listener.port: name = "server.port"
        case server.redirectPort: name = "server.redirectPort"
        default: return
        }
        let everywhere: Set<IPAddress> = [.v4(0), .v6(0, 0)]
        guard listener.host == admin.host || everywhere.contains(listener.host) || everywhere.contains(admin.host)
        else {
            return
        }
        values.fail("admin.port", "is \(admin.port), as \(name) is.", "Write another port.")
    }

    private func log() -> Configuration.Log? {
        let level = values.choice("log.level", LogLevel.self)
        let format = values.choice("log.format", LogFormat.self)
        let requests = values.choice("log.requests", WebConfiguration.AccessLog.Requests.self)
        let clients = values.choice("log.clients", ClientDetail.self)
        guard let level, let format, let requests, let clients else { return nil }
        return Configuration.Log(level: level, format: format, access: .init(requests: requests, clients: clients))
    }
}
