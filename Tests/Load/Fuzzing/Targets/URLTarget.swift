import HTTP
import Web

@testable import Bramley

extension FuzzTarget {
    /// Addresses of sites, which three parts read for themselves: what the strictest accepts, all read alike.
    static let url = FuzzTarget(name: "url", maximumLength: 256) { input throws(Finding) in
        let text = String(decoding: input, as: UTF8.self)
        if let url = ClientURL(text) {
            try hold(!url.host.isEmpty && url.port > 0 && url.target.hasPrefix("/"), "\(url)")
            let again = "\(url.isSecure ? "https" : "http")://\(url.hostField)\(url.target)"
            try hold(ClientURL(again) == url, "\(shown(input)) is \(url), again \(shown(again.utf8))")
        }
        guard let address = try? WebAddress.parse(text) else { return nil }
        try hold((try? WebAddress.parse(address.text)) == address, "\(text) is \(address.text)")
        guard let url = ClientURL(text), let site = PublicURL(text) else { throw Finding("refused elsewhere: \(text)") }
        let port = address.port.map { UInt16($0) } ?? (address.scheme == "https" ? 443 : 80)
        try hold(url.host == address.host && url.port == port, "\(text): \(url), \(address)")
        try hold(site.origin == address.origin, "\(text): \(site.origin), \(address.origin)")
        return Array(address.host.utf8)
    }
}
