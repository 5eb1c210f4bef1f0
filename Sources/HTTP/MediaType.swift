package import HTTPTypes

/// The content type of a message (RFC 9110 §8.3).
package enum MediaType {
    /// Type and subtype in lower case, without parameters; nil when there is no `Content-Type`, or more than one.
    package static func essence(of fields: HTTPFields) -> String? {
        let values = fields[values: .contentType]
        guard values.count == 1 else { return nil }
        var essence: [UInt8] = []
        for byte in values[0].utf8 {
            switch byte {
            case UInt8(ascii: ";"): return essence.isEmpty ? nil : String(decoding: essence, as: UTF8.self)
            case UInt8(ascii: " "), UInt8(ascii: "\t"): continue
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): essence.append(byte | 0x20)
            default: essence.append(byte)
            }
        }
        return essence.isEmpty ? nil : String(decoding: essence, as: UTF8.self)
    }
}
