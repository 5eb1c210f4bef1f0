import Accounts
import Coding
import HTTPTypes

/// A backend's credential in `Authorization`: parsed, not yet looked up.
enum BackendCredential: Sendable {
    /// No `Authorization` at all.
    case none
    case key(APIKeyToken, Scheme)
    /// Something that cannot be an API key: a session's token, two fields, an unsupported scheme.
    case malformed(Scheme)

    enum Scheme: Hashable, Sendable {
        case bearer, basic
    }

    /// Schemes are compared without case (RFC 9110 §11.1), followed by at least one space. Blanks around the field do
    /// not belong to the value (RFC 9110 §5.5); any inside invalidate the credentials.
    init(_ fields: HTTPFields) {
        let values = fields[values: .authorization]
        guard let value = values.first else {
            self = .none
            return
        }
        let parts = value.split(separator: " ", maxSplits: 1)
        let scheme: Scheme = parts.first?.lowercased() == "basic" ? .basic : .bearer
        guard values.count == 1, parts.count == 2 else {
            self = .malformed(scheme)
            return
        }
        let credentials = String(parts[1].drop { $0 == " " })
        let text: String?
        switch parts[0].lowercased() {
        case "bearer": text = credentials
        case "basic": text = Self.password(credentials)
        default: text = nil
        }
        guard let text, let token = APIKeyToken(parsing: text) else {
            self = .malformed(scheme)
            return
        }
        self = .key(token, scheme)
    }

    /// The password of Basic credentials (RFC 7617 §2): the text after the first colon. The name before it may be
    /// anything, since a key identifies itself. RFC 6749 §2.3.1 lets clients form-encode both; no key has a character
    /// this could change, so decoding is harmless.
    private static func password(_ credentials: String) -> String? {
        guard let bytes = Base64.decode(Array(credentials.utf8)),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            let password = PercentEncoding.decode(Array(bytes[(colon + 1)...]))
        else { return nil }
        return String(validating: password, as: UTF8.self)
    }
}
