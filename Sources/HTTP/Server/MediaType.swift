package import HTTPTypes

/// The content type of a message (RFC 9110 §8.3).
package enum MediaType {
    /// Type and subtype in lower case, without parameters; nil when there is no `Content-Type`, or more than one.
    package static func essence(of fields: HTTPFields) -> String? {
        let values = fields[values: .contentType]
        guard values.count == 1 else { return nil }
        let essence = values[0].utf8.prefix { $0 != ASCII.semicolon }.filter { !ByteClass.isBlank($0) }
        return essence.isEmpty ? nil : String(decoding: essence.map(ASCII.folded), as: UTF8.self)
    }

    /// By file name extension, with the charset where text needs one.
    private static let byExtension = [
        "html": "text/html; charset=utf-8",
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "mjs": "text/javascript; charset=utf-8",
        "json": "application/json",
        "map": "application/json",
        "webmanifest": "application/manifest+json",
        "txt": "text/plain; charset=utf-8",
        "xml": "application/xml",
        "svg": "image/svg+xml",
        "png": "image/png",
        "jpg": "image/jpeg",
        "jpeg": "image/jpeg",
        "gif": "image/gif",
        "webp": "image/webp",
        "avif": "image/avif",
        "ico": "image/x-icon",
        "woff": "font/woff",
        "woff2": "font/woff2",
        "ttf": "font/ttf",
        "otf": "font/otf",
        "pdf": "application/pdf",
        "wasm": "application/wasm",
    ]

    /// The type for a file name; `application/octet-stream` for an unknown extension.
    package static func forFile(named name: String) -> String {
        guard let dot = name.lastIndex(of: "."), name[dot...].firstIndex(of: "/") == nil else {
            return "application/octet-stream"
        }
        return byExtension[name[name.index(after: dot)...].lowercased()] ?? "application/octet-stream"
    }
}
