import Coding
import HTTPTypes

/// Whether a request that changes something comes from a page of ours.
enum SameOrigin {
    /// `Sec-Fetch-Site: same-origin`, or, where a browser sends none, `Origin` equal to that of `publicURL`. A request
    /// with neither does not pass, nor does one with either field twice.
    static func holds(_ fields: HTTPFields, publicURL: PublicURL) -> Bool {
        let sites = fields[values: .secFetchSite]
        if !sites.isEmpty { return sites.count == 1 && sites[0].isExactly("same-origin") }
        let origins = fields[values: .origin]
        return origins.count == 1 && origins[0].isExactly(publicURL.origin)
    }

    /// Whether a navigation may have begun at a page of ours or by the person's own hand: a bookmark, or a browser too old
    /// to say (`Sec-Fetch-Site`).
    static func isOwnOrTyped(_ fields: HTTPFields) -> Bool {
        let sites = fields[values: .secFetchSite]
        return sites.isEmpty || (sites.count == 1 && ["same-origin", "none"].contains { sites[0].isExactly($0) })
    }
}
