import Coding
import HTTPTypes

/// Whether a request that changes something comes from a page of ours.
enum SameOrigin {
    /// `Sec-Fetch-Site: same-origin` or, without it, `Origin` equal to `publicURL`'s; refused with neither or twice.
    static func holds(_ fields: HTTPFields, publicURL: PublicURL) -> Bool {
        let sites = fields[values: .secFetchSite]
        if !sites.isEmpty { return sites.count == 1 && sites[0].isExactly("same-origin") }
        let origins = fields[values: .origin]
        return origins.count == 1 && origins[0].isExactly(publicURL.origin)
    }

    /// Whether a form was sent by a page of ours or of one of these origins, which the operator trusts.
    ///
    /// A site's own origin counts only where it is same-site, or where a browser does not say: from elsewhere it would
    /// come without the session's cookie.
    static func holds(_ fields: HTTPFields, publicURL: PublicURL, or allowed: [String]) -> Bool {
        if holds(fields, publicURL: publicURL) { return true }
        let (sites, origins) = (fields[values: .secFetchSite], fields[values: .origin])
        guard sites.isEmpty || (sites.count == 1 && sites[0].isExactly("same-site")), origins.count == 1 else {
            return false
        }
        return allowed.contains { $0.isExactly(origins[0]) }
    }

    /// Whether a navigation may have begun at a page of ours or by the person directly (`Sec-Fetch-Site`, if sent).
    static func isOwnOrTyped(_ fields: HTTPFields) -> Bool {
        let sites = fields[values: .secFetchSite]
        return sites.isEmpty || (sites.count == 1 && ["same-origin", "none"].contains { sites[0].isExactly($0) })
    }
}
