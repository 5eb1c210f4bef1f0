internal import Coding
package import Crypto
package import HTTP
internal import HTTPTypes
package import RelyingParty

/// The application's verifier over HTTP: requests signed as in Standard Webhooks, each on its own connection.
///
/// A request is built, signed and sent from memory that is zeroed, and is gone when the call returns. The reasons of
/// failures are our own texts: they contain nothing of a request or an answer.
package struct VerifierTransport: AccountVerifier {
    /// From the call to the end of the answer, in milliseconds.
    package static let timeout: Int64 = 10_000
    /// The limit of the answer's content, in bytes.
    package static let maximumBody = 16_384

    private let url: ClientURL
    private let transport: any HTTPTransport
    private let secrets: @Sendable () -> WebhookSecrets
    private let clock: any WallClock
    private let random: any RandomSource
    private let timeout: Int64

    /// - Parameters:
    ///   - url: `upgrade.verifierURL`.
    ///   - secrets: the active ones; called for each request.
    ///   - timeout: from the call to the end of the answer, in milliseconds.
    package init(
        url: ClientURL, transport: any HTTPTransport, secrets: @escaping @Sendable () -> WebhookSecrets,
        clock: any WallClock, random: any RandomSource, timeout: Int64 = Self.timeout
    ) {
        self.url = url
        self.transport = transport
        self.secrets = secrets
        self.clock = clock
        self.random = random
        self.timeout = timeout
    }

    package func verify(username: String, password: Password) async throws(VerifierFailure) -> VerifierAnswer {
        // Bytes that are not a string are nobody's password, and cannot be sent.
        guard let question = VerifierQuestion.verify(username: username, password: password) else { return .failure }
        return try VerifierReading.answer(in: try await ask(question, as: makeMessageID()))
    }

    package func secondFactor(challenge: String, code: String) async throws(VerifierFailure) -> VerifierAnswer {
        let question = VerifierQuestion.secondFactor(challenge: challenge, code: code)
        return try VerifierReading.answer(in: try await ask(question, as: makeMessageID()))
    }

    package func convert(_ conversion: Conversion) async throws(VerifierFailure) -> ConversionAnswer {
        let question = VerifierQuestion.convert(conversion)
        let response = try await ask(question, as: conversion.attemptID.rawValue, forStatusAlone: true)
        return try VerifierReading.conversion(in: response)
    }

    /// An identifier for a request that is sent once.
    private func makeMessageID() -> String {
        RandomIdentifier(random: random).make(VerifierMessageID.self).rawValue
    }

    private func ask(
        _ question: SecretBytes, as id: String, forStatusAlone: Bool = false
    ) async throws(VerifierFailure) -> ClientResponse {
        var request = VerifierQuestion.request(
            question, id: id, to: url, signedBy: secrets(), at: clock.now(), forStatusAlone: forStatusAlone)
        request.timeout = timeout
        do throws(HTTPClientError) {
            return try await transport.send(request)
        } catch {
            throw .unavailable(error.reason)
        }
    }
}

/// `webhook-id` of a request that is sent once.
struct VerifierMessageID: PrefixedIdentifier {
    static var prefix: String { "msg_" }
    let rawValue: String
    init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// The verifier's request: JSON, in memory that is zeroed afterwards.
enum VerifierQuestion {
    /// Nil when the password is not UTF-8.
    static func verify(username: String, password: Password) -> SecretBytes? {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("action", "verify")
        writer.member("username", username)
        writer.name("password")
        var bytes: [UInt8] = []
        // Growing would leave copies behind.
        bytes.reserveCapacity(writer.bytes.count + password.bytes.count * 6 + 3)
        bytes += writer.bytes
        bytes.append(UInt8(ascii: "\""))
        password.bytes.forEach { append(escaping: $0, to: &bytes) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: "}"))
        let isText = (try? UTF8Span(validating: bytes.span)) != nil
        let question = SecretBytes(consuming: &bytes)
        return isText ? question : nil
    }

    static func secondFactor(challenge: String, code: String) -> SecretBytes {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("action", "secondFactor")
        writer.member("challenge", challenge)
        writer.member("code", code)
        writer.endObject()
        return SecretBytes(writer.bytes)
    }

    static func convert(_ conversion: Conversion) -> SecretBytes {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("action", "convert")
        writer.member("attemptID", conversion.attemptID.rawValue)
        writer.member("kind", conversion.kind.rawValue)
        writer.member("externalID", conversion.externalID)
        writer.member("userID", conversion.userID.rawValue)
        writer.endObject()
        return SecretBytes(writer.bytes)
    }

    /// - Parameter forStatusAlone: the content of the answer does not matter, however long it is.
    static func request(
        _ question: SecretBytes, id: String, to url: ClientURL, signedBy secrets: WebhookSecrets, at now: Timestamp,
        forStatusAlone: Bool = false
    ) -> ClientRequest {
        let seconds = now.milliseconds / 1000
        let signed = WebhookRequest.fields(
            id: id, timestamp: seconds, signature: secrets.signatures(id: id, timestamp: seconds, body: question))
        var fields: HTTPFields = [.contentType: "application/json", .accept: "application/json"]
        for (name, value) in signed {
            guard let name = HTTPField.Name(name) else { continue }
            fields[name] = value
        }
        var request = ClientRequest(
            method: .post, url: url, fields: fields, timeout: VerifierTransport.timeout,
            maximumBodySize: VerifierTransport.maximumBody)
        request.secret = SecretContent(count: question.count) { question.append(to: &$0) }
        request.isAlone = true
        // Named in `upgrade.verifierURL`.
        request.reach = .anywhere
        request.cutsLongBody = forStatusAlone
        return request
    }

    /// As RFC 8259 §7 requires, byte by byte: what is escaped is ASCII.
    private static func append(escaping byte: UInt8, to output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            output.append(UInt8(ascii: "\\"))
            output.append(byte)
        case 0...0x1F, 0x7F:
            for character in "\\u00".utf8 { output.append(character) }
            output.append(Hexadecimal.lower(byte >> 4))
            output.append(Hexadecimal.lower(byte))
        default:
            output.append(byte)
        }
    }
}

/// The meaning of the verifier's answers. Only explicit answers count; everything else is no answer.
enum VerifierReading {
    /// An object with a result and at most two lists.
    private static let limits = JSONLimits(maximumBytes: VerifierTransport.maximumBody, maximumDepth: 8)

    /// To `verify` and `secondFactor`.
    static func answer(in response: ClientResponse) throws(VerifierFailure) -> VerifierAnswer {
        guard response.status.code == 200 else { throw .unavailable(words(of: response.status.code)) }
        guard MediaType.essence(of: response.fields) == "application/json" else {
            throw .unavailable("the answer's Content-Type is not application/json")
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONReader.parse(response.body, limits: limits)
        } catch {
            throw .unavailable("the answer is not JSON: \(error)")
        }
        guard let object = value.objectValue else { throw .unavailable("the answer is not a JSON object") }
        guard let result = object["result"]?.stringValue else { throw .unavailable("the answer has no result") }
        let externalID = try text("externalID", in: object)
        let challenge = try text("challenge", in: object)
        let methods = try methods(in: object)
        switch result {
        case let result where result.isExactly("failure"): return .failure
        case let result where result.isExactly("success"):
            guard let externalID, UserLimits.accepts(externalID: externalID) else {
                throw .unavailable("success without a usable externalID")
            }
            return .success(externalID: externalID)
        case let result where result.isExactly("twoFactorAuthRequired"):
            guard let challenge, LinkLimits.accepts(challenge: challenge) else {
                throw .unavailable("twoFactorAuthRequired without a usable challenge")
            }
            guard LinkLimits.accepts(methods: methods) else {
                throw .unavailable("twoFactorAuthRequired with unusable methods")
            }
            return .twoFactorAuthRequired(challenge: challenge, methods: methods)
        default: throw .unavailable("an unknown result")
        }
    }

    /// To `convert`.
    static func conversion(in response: ClientResponse) throws(VerifierFailure) -> ConversionAnswer {
        switch response.status.code {
        case 204: .converted
        case 409: .refused
        case let code: throw .unavailable(words(of: code))
        }
    }

    static func words(of code: Int) -> String {
        (300...399).contains(code) ? "a redirect, status \(code)" : "status \(code)"
    }

    /// Nil when absent or null.
    private static func text(_ name: String, in object: JSONObject) throws(VerifierFailure) -> String? {
        switch object[name] {
        case nil, .null: return nil
        case .string(let text): return text
        default: throw .unavailable("\(name) is not a string")
        }
    }

    private static func methods(in object: JSONObject) throws(VerifierFailure) -> [String] {
        guard let value = object["methods"], value != .null else { return [] }
        guard let elements = value.arrayValue else { throw .unavailable("methods is not a list") }
        let texts = elements.compactMap(\.stringValue)
        guard texts.count == elements.count else { throw .unavailable("methods is not a list of strings") }
        return texts
    }
}
