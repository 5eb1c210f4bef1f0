import Coding
import Crypto

// Client ID metadata documents: draft-ietf-oauth-client-id-metadata-document-02.

/// What a client's metadata document says (§4), as far as it is used. No address in it is ever fetched.
package struct ClientDocument: Hashable, Sendable {
    /// Bytes. §8.7 recommends 5,000.
    package static let maximumSize = 16_384

    let name: String
    let redirectURIs: [String]

    /// - Parameter url: where it was found.
    package init(_ bytes: [UInt8], at url: String) throws(Failure) {
        guard bytes.count <= Self.maximumSize else {
            throw .document(url, "it is longer than \(Self.maximumSize) bytes")
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONReader.parse(bytes)
        } catch {
            throw .document(url, "it is not JSON: \(error)")
        }
        guard let object = value.objectValue else { throw .document(url, "it is not a JSON object") }
        guard object["client_id"]?.stringValue?.isExactly(url) == true else {
            throw .document(url, "its client_id is not its address")
        }
        if let reason = Self.refusal(ofCredentials: object) { throw .document(url, reason) }
        guard let name = object["client_name"]?.stringValue else { throw .document(url, "it has no client_name") }
        // Text that is read backwards would imitate another name, and one that cannot be seen would be none.
        guard ClientRules.refusal(ofName: name) == nil,
            !name.unicodeScalars.contains(where: \.properties.isBidiControl),
            name.unicodeScalars.contains(where: {
                !$0.properties.isDefaultIgnorableCodePoint && !$0.properties.isWhitespace
            })
        else { throw .document(url, "its client_name is not a plain line of at most \(ClientRules.nameLimit) bytes") }
        self.name = name
        guard let uris = object["redirect_uris"]?.textsValue else {
            throw .document(url, "its redirect_uris are not a list of texts")
        }
        redirectURIs = uris.filter { ClientRules.refusal(ofRedirectURI: $0, isPublic: false) == nil }
        guard (1...ClientRules.listLimit).contains(redirectURIs.count) else {
            throw .document(
                url, "it has \(redirectURIs.count) usable redirect_uris: 1 to \(ClientRules.listLimit) are allowed")
        }
    }

    /// Nobody can share a secret through a public document (§4.1), and its client can be only a public one here.
    private static func refusal(ofCredentials object: JSONObject) -> String? {
        if object.members.contains(where: { $0.name.hasPrefix("client_secret") }) { return "it has a client_secret" }
        let (one, several) = ("token_endpoint_auth_method", "token_endpoint_auth_methods_supported")
        let method = object[one]?.stringValue
        guard let methods = object[several].map(\.textsValue) ?? [], method != nil || object[one] == nil else {
            return "\(one) or \(several) is not text"
        }
        let all = methods + (method.map { [$0] } ?? [])
        if all.contains(where: { $0.hasPrefix("client_secret") }) { return "it names a method with a shared secret" }
        guard method == nil || all.contains(where: { $0.isExactly("none") }) else {
            return "none is not among its authentication methods"
        }
        // RFC 7518 §6.2.2, §6.3.2, §6.4.1, RFC 8037 §2.
        let secret = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]
        let keys = object["jwks"]?.objectValue?["keys"]?.arrayValue ?? []
        let isPrivate = keys.contains { key in secret.contains { key.objectValue?[$0] != nil } }
        return isPrivate ? "it has a private key" : nil
    }
}

extension Failure {
    /// - Parameter reason: contains nothing of the document.
    static func document(_ url: String, _ reason: String) -> Failure {
        Failure(.openIDClientUnknown, "client document refused, \(ClientDocument.host(of: url)): \(reason)")
    }
}

extension ClientDocument {
    /// Empty for what is not an address.
    static func host(of url: String) -> String { String(AbsoluteURL(url)?.hostAndPort?.host ?? "") }

    /// - Parameter hosts: `openid.clientDocuments`
    package static func admits(_ url: String, _ hosts: [String]) -> Bool {
        hosts.contains("*") || hosts.contains { $0.isExactly(host(of: url)) }
    }
}

extension OpenIDClientID {
    private static let documentPrefix = "doc-"
    private static let documentLength = 26

    /// Of a document's client, for rows and paths.
    package init(document url: String) {
        let digest = SHA256.hash(utf8: url).bytes.prefix(16)
        self.init(unchecked: Self.documentPrefix + Base64URL.encode(Array(digest)))
    }

    /// Of a `client_id`: a registered one, or the address of a document.
    init?(named text: String) {
        if let id = OpenIDClientID(parsing: text) {
            self = id
        } else if ClientRules.refusal(ofDocument: text) == nil {
            self.init(document: text)
        } else {
            return nil
        }
    }

    /// Whether a document's client could have it.
    var isReserved: Bool {
        rawValue.hasPrefix(Self.documentPrefix) && rawValue.utf8.count == Self.documentLength
    }
}
