package import HTTPTypes

/// The content type of a message (RFC 9110 §8.3).
package enum MediaType {
    /// Type and subtype in lower case, without parameters; nil when there is no `Content-Type`, or more than one.
    package static func essence(of fields: HTTPFields) -> String? {
        let values = fields[values: .contentType]
        guard values.count == 1, let type = values[0].split(separator: ";", maxSplits: 1).first else { return nil }
        return type.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
}
