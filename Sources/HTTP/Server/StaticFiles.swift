import HTTPTypes

/// A file held in memory, served as it is.
package struct StaticAsset: Hashable, Sendable {
    /// Relative, with slashes: `css/site.css`.
    package var path: String
    package var bytes: [UInt8]
    /// Seconds since 1970.
    package var lastModified: Int64
    /// Changes with the bytes: a digest of them in hexadecimal or base64url, at least 16 characters.
    package var contentHash: String

    package init(path: String, bytes: [UInt8], lastModified: Int64, contentHash: String) {
        self.path = path
        self.bytes = bytes
        self.lastModified = lastModified
        self.contentHash = contentHash
    }

    /// The value of `?v=` in a URL that may be cached for ever.
    package var version: String { String(contentHash.prefix(16)) }
}

/// Serves assets from memory: what is not in the table does not exist, so no path can escape from it.
package struct StaticFiles: Sendable {
    /// A year, without revalidation: the URL names the content.
    static let versionedCaching = "public, max-age=31536000, immutable"
    /// Long enough for a page and its neighbours, short enough for a new release.
    static let plainCaching = "public, max-age=300"

    private struct Entry: Sendable {
        var asset: StaticAsset
        var eTag: EntityTag
        /// Everything but `Cache-Control`.
        var fields: HTTPFields
    }

    private var entries: [String: Entry] = [:]

    /// Assets with a path or hash that is not allowed are left out; see `isAllowed`.
    package init(assets: [StaticAsset]) {
        for asset in assets where Self.isAllowed(asset.path) && !asset.contentHash.isEmpty {
            guard let eTag = EntityTag(asset.contentHash) else { continue }
            let fields: HTTPFields = [
                .contentType: MediaType.forFile(named: asset.path), .eTag: eTag.fieldValue,
                .lastModified: HTTPDate.format(asset.lastModified),
            ]
            entries[asset.path] = Entry(asset: asset, eTag: eTag, fields: fields)
        }
    }

    /// Answers a GET or HEAD for `path`, relative and decoded; other methods get 405.
    ///
    /// A HEAD gets the bytes as well: the server uses their length and does not send them.
    /// - Parameter now: seconds since 1970.
    package func respond(to request: ServerRequest, path: String, now: Int64) -> ServerResponse {
        guard let entry = entries[path] else { return ServerResponse(status: .notFound) }
        guard request.method == .get || request.method == .head else {
            return ServerResponse(status: .methodNotAllowed, fields: [.allow: "GET, HEAD"])
        }
        let outcome = ConditionalRequest.evaluate(
            method: request.method, fields: request.fields, eTag: entry.eTag,
            lastModified: entry.asset.lastModified, now: now)
        var fields = entry.fields
        fields[.cacheControl] = isVersioned(request.query, entry.asset) ? Self.versionedCaching : Self.plainCaching
        switch outcome {
        case .preconditionFailed: return ServerResponse(status: .preconditionFailed)
        case .notModified:
            // RFC 9110 §15.4.5: the validators and the caching, nothing about the content.
            fields[.contentType] = nil
            return ServerResponse(status: .notModified, fields: fields)
        case .proceed: return ServerResponse(status: .ok, fields: fields, body: .bytes(entry.asset.bytes))
        }
    }

    /// Only the current version: during a deployment another would be cached for a year under the wrong name.
    private func isVersioned(_ query: String?, _ asset: StaticAsset) -> Bool {
        guard let query else { return false }
        return query.split(separator: "&").contains { $0 == "v=" + asset.version }
    }

    /// Relative, made of non-empty segments of letters, digits, `-`, `_`, `.`, `~`, `@` and `+` that do not begin with
    /// a dot: no traversal, no dotfiles, nothing a URL would have to escape.
    package static func isAllowed(_ path: String) -> Bool {
        guard !path.isEmpty, path.utf8.count <= 255 else { return false }
        return path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { segment in
            guard let first = segment.utf8.first, first != ASCII.dot else { return false }
            return segment.utf8.allSatisfy { ByteClass.hostName.contains($0) || $0 == 0x40 || $0 == 0x2b }
        }
    }
}
