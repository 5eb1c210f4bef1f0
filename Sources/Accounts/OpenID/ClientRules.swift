import Coding

/// Rules for clients. Each `refusal` is nil, or why the value is not accepted.
package enum ClientRules {
    /// Bytes of a redirect URI, and of a display name.
    package static let uriLimit = 1_000
    package static let nameLimit = 100
    /// The most entries of each list.
    package static let listLimit = 50

    /// For applications on the visitor's own machine (RFC 8252 §7.3, §8.3).
    static let loopbackHosts = ["127.0.0.1", "[::1]", "localhost"]

    /// A redirect URI: https; http on a loopback host; for a public client also its own reversed-domain scheme
    /// (RFC 8252 §7.1). The same rules apply to addresses after signing out.
    package static func refusal(ofRedirectURI text: String, isPublic: Bool) -> String? {
        if let problem = refusal(ofURI: text) { return problem }
        if let url = AbsoluteURL(text) { return refusal(of: url) }
        guard let scheme = scheme(of: text) else { return "it is not an absolute URI" }
        guard isPublic else { return "its scheme is not https; only a public client may use its own scheme" }
        guard scheme.contains(".") else {
            return "its scheme must be a reversed domain, such as com.example.app:/callback"
        }
        return nil
    }

    /// The address of a client's metadata document (client ID metadata documents §3).
    static func refusal(ofDocument text: String) -> String? {
        if let problem = refusal(ofURI: text) { return problem }
        guard let url = AbsoluteURL(text), url.isSecure else { return "it is not an https address" }
        if let problem = refusal(of: url) { return problem }
        guard let host = url.hostAndPort?.host, isHostName(String(host)) else { return "its host is not a plain name" }
        guard url.rest.hasPrefix("/") else { return "it has no path" }
        return url.rest.lowercased().prefix { $0 != "?" }.contains("%2e") ? "its path has an escaped dot" : nil
    }

    /// A name per RFC 1123 §2.1 in lower case, which nothing reads as an address: the last part begins with a letter.
    package static func isHostName(_ text: String) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        return text.utf8.count <= 253 && labels.last?.first.map { ("a"..."z").contains($0) } == true
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                    && label.utf8.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789-".utf8.contains)
            }
    }

    package static func refusal(ofName text: String) -> String? {
        PlainLine.acceptsName(text, maximum: nameLimit)
            ? nil : "1 to \(nameLimit) bytes, without control characters or a space at either end"
    }

    static func refusal(ofGroup text: String) -> String? {
        UserLimits.accepts(group: text)
            ? nil
            : "1 to \(UserLimits.groupName) bytes, without commas, control characters or a space at either end"
    }

    private static func refusal(ofURI text: String) -> String? {
        if text.utf8.count > uriLimit { return "it is longer than \(uriLimit) bytes" }
        // RFC 3986 §2: no other byte may be in a URI. A backslash would be read as a slash.
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#"<>"\^`{|}"#.utf8.contains($0) }) else {
            return "it has a character that is not allowed in a URI"
        }
        // RFC 3986 allows a comma, but two addresses in one are a list.
        if let rest = text.firstIndex(of: ",").map({ text[text.index(after: $0)...] }), rest.contains("://") {
            return "it contains two addresses; give each separately"
        }
        // RFC 6749 §3.1.2.
        return text.contains("#") ? "it has a fragment" : nil
    }

    private static func refusal(of url: AbsoluteURL) -> String? {
        guard url.hasPlainAuthority, let (host, port) = url.hostAndPort else {
            return "its host must be plain, without user, escapes or wildcards"
        }
        if let port, UInt16(port) ?? 0 == 0 { return "its port is not a number" }
        if !url.isSecure, !loopbackHosts.contains(host.lowercased()) {
            return "http is only for 127.0.0.1, [::1] and localhost"
        }
        let segments = url.rest.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
        return segments.contains { $0 == "." || $0 == ".." } ? "its path has a dot segment" : nil
    }

    /// RFC 3986 §3.1; nil without a scheme, and for http and https.
    private static func scheme(of text: String) -> String? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let scheme = text[..<colon].lowercased()
        let isPlain = scheme.utf8.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789.-+".utf8.contains)
        let isLetter = scheme.utf8.first.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) } ?? false
        return isPlain && isLetter && scheme != "http" && scheme != "https" ? scheme : nil
    }
}

package struct ClientProblem: Hashable, Sendable, CustomStringConvertible {
    /// Such as `redirect URI`.
    package var subject: String
    package var value: String?
    package var reason: String

    package var description: String { "\(value.map { "\(subject) \($0)" } ?? subject): \(reason)" }
    /// Without the operator's input.
    package var plain: String { "\(subject): \(reason)" }

    static func unknown(_ scopes: [OpenIDScope]) -> [ClientProblem] {
        let known = OpenIDScope.identity.map(\.rawValue).joined(separator: ", ")
        return scopes.map { scope in
            ClientProblem(
                subject: "scope", value: scope.rawValue, reason: "it is not a scope of a service, nor one of \(known)")
        }
    }
}

extension OpenIDClient {
    /// Empty for a valid client, whose id is none of the `audiences` of assertions (RFC 8725 §3.12).
    package func problems(audiences: [String]) -> [ClientProblem] {
        var problems: [ClientProblem] = []
        func add(_ subject: String, _ value: String?, _ reason: String?) {
            if let reason { problems.append(ClientProblem(subject: subject, value: value, reason: reason)) }
        }
        add("name", name, ClientRules.refusal(ofName: name))
        if audiences.contains(where: { $0.isExactly(id.rawValue) }) {
            add("client ID", id.rawValue, "it is also in assertion.audience")
        }
        if redirectURIs.isEmpty, !allowsDevice { add("redirect URI", nil, "at least one is required") }
        for (subject, uris) in [("redirect URI", redirectURIs), ("logout URI", logoutURIs)] {
            for uri in uris { add(subject, uri, ClientRules.refusal(ofRedirectURI: uri, isPublic: isPublic)) }
        }
        if let uri = backChannelLogoutURI {
            add("back-channel logout URI", uri, ClientRules.refusal(ofRedirectURI: uri, isPublic: false))
        }
        for (subject, list) in [("redirect URIs", redirectURIs), ("logout URIs", logoutURIs), ("groups", groups)]
        where list.count > ClientRules.listLimit {
            add(subject, nil, "there are more than \(ClientRules.listLimit)")
        }
        for group in groups { add("group", group, ClientRules.refusal(ofGroup: group)) }
        if !scopes.contains(.openid) { add("scopes", nil, "openid is missing") }
        return problems
    }

    /// Whether an answer may go there: it must be registered, byte by byte (RFC 9700 §4.1.3). Only the loopback port of
    /// a public client is free (RFC 8252 §7.3).
    func accepts(redirectURI: String) -> Bool {
        if redirectURIs.contains(where: { $0.isExactly(redirectURI) }) { return true }
        guard isPublic, let asked = Self.withoutLoopbackPort(redirectURI) else { return false }
        return redirectURIs.contains { Self.withoutLoopbackPort($0)?.isExactly(asked) == true }
    }

    private static func withoutLoopbackPort(_ text: String) -> String? {
        guard let url = AbsoluteURL(text), !url.isSecure, url.hasPlainAuthority, let (host, port) = url.hostAndPort,
            ClientRules.loopbackHosts.contains(String(host)), !text.contains("#")
        else { return nil }
        if let port {
            // Only digits, and no leading zero: some parsers read that as octal.
            guard let number = UInt16(port), number > 0, String(number) == port else { return nil }
        }
        return "http://\(host)\(url.rest)"
    }
}
