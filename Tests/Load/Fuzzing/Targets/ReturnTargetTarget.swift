import Accounts

extension FuzzTarget {
    /// `return_to`: wherever it leads, a browser ends on an allowed origin, by the rules of the WHATWG URL standard.
    static let returnTarget = FuzzTarget(name: "return-target", maximumLength: 512) { input throws(Finding) in
        guard let text = String(validating: input, as: UTF8.self), let target = targets.validate(text) else {
            return nil
        }
        guard text != "", target != targets.defaultTarget else { return nil }
        let location = target.location
        try hold(location.utf8.count <= ReturnTargets.maximumLength, "\(location.utf8.count) bytes")
        try hold(location.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "unsafe in a field: \(shown(location.utf8))")
        try hold(targets.validate(location) == target, "judged twice, \(location) changes")
        let origin = BrowserURL.origin(of: location, base: "https://login.example.com")
        try hold(allowed.contains(origin ?? ""), "\(shown(input)) leads to \(origin ?? "nowhere")")
        return Array(location.utf8.dropFirst())
    }

    private static let allowed = [
        "https://login.example.com", "https://app.example.com", "http://localhost:3000", "https://[2001:db8::1]:8443",
    ]
    private static let targets = ReturnTargets(
        publicURL: "https://login.example.com/sign-in", allowedOrigins: Array(allowed.dropFirst()),
        defaultTarget: "https://elsewhere.example.net/")
}

/// As much of a browser's URL parser as decides whose site an address is on.
private enum BrowserURL {
    static func origin(of text: String, base: String) -> String? {
        // Blanks and controls around it go, tabs and line ends everywhere.
        var input = Substring(text.filter { $0 != "\t" && $0 != "\n" && $0 != "\r" && $0 != "\r\n" })
        input = input.drop { $0.isASCII && ($0.asciiValue ?? 33) <= 32 }
        while let last = input.last, last.isASCII, (last.asciiValue ?? 33) <= 32 { input.removeLast() }
        let scheme = input.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }.lowercased()
        if let first = scheme.first, first.isLetter, input.dropFirst(scheme.count).first == ":" {
            guard scheme == "http" || scheme == "https" else { return scheme }
            let rest = input.dropFirst(scheme.count + 1).drop { $0 == "/" || $0 == "\\" }
            return authority(rest, scheme: scheme)
        }
        let slashes = input.prefix { $0 == "/" || $0 == "\\" }
        guard slashes.count >= 2 else { return base }
        return authority(input.dropFirst(slashes.count), scheme: "https")
    }

    private static func authority(_ rest: Substring, scheme: String) -> String? {
        var host = rest.prefix { !"/\\?#".contains($0) }
        if let at = host.lastIndex(of: "@") { host = host[host.index(after: at)...] }
        var text = host.lowercased()
        let standard = scheme == "https" ? ":443" : ":80"
        if text.hasSuffix(standard) { text.removeLast(standard.count) }
        return text.isEmpty ? nil : "\(scheme)://\(text)"
    }
}
