import Accounts
import Crypto
import HTTP
import HTTPTypes

/// The bytes of an answer of `/auth/verify` that are the same for everybody.
enum VerifyAnswer {
    /// Status line and the fields of every response.
    static func prefix(_ policy: ContentSecurityPolicy) -> [UInt8] {
        var bytes = Array("HTTP/1.1 204 No Content\r\n".utf8)
        for field in SecurityHeaders.fields(
            policy: policy.nothing, isSecure: policy.isSecure, referrer: .noReferrer)
        {
            append(field.name.rawName, field.value, to: &bytes)
        }
        return bytes
    }

    private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: ": ".utf8)
        bytes.append(contentsOf: value.utf8)
        bytes.append(contentsOf: "\r\n".utf8)
    }
}

/// The five fields of an answer, and what is kept of a person to write them again: the lengths of four values, two bytes
/// each, and the values.
struct VerifyFields {
    /// Of somebody with an address and a name, in bytes.
    static let keptSize = 80
    private static let lengths = 8

    /// As they begin a line, in order.
    private let names = VerifiedUser.nobody.fields.map { Array("\($0.name.rawName): ".utf8) }

    /// Empty for a session that the fast path may not answer.
    static func kept(_ signedIn: SignedIn) -> [UInt8] {
        guard signedIn.session.kind == .browser, signedIn.user.state == .active else { return [] }
        return kept(VerifiedUser(signedIn.user))
    }

    static func kept(_ user: VerifiedUser) -> [UInt8] {
        let values = [user.user, user.email, user.name, user.groups].map(\.utf8)
        guard values.allSatisfy({ $0.count <= UInt16.max }) else { return [] }
        return values.flatMap { [UInt8(truncatingIfNeeded: $0.count >> 8), UInt8(truncatingIfNeeded: $0.count)] }
            + values.joined()
    }

    /// - Parameter kept: not empty.
    func append(_ kept: Span<UInt8>, to output: inout [UInt8]) {
        func end(_ index: Int, from start: Int) -> Int {
            start + Int(kept[2 * index]) << 8 + Int(kept[2 * index + 1])
        }
        let user = Self.lengths..<end(0, from: Self.lengths)
        let email = user.upperBound..<end(1, from: user.upperBound)
        let name = email.upperBound..<end(2, from: email.upperBound)
        let groups = name.upperBound..<end(3, from: name.upperBound)
        append(0, kept.extracting(user), to: &output)
        append(1, kept.extracting(email), to: &output)
        append(2, kept.extracting(email.isEmpty ? user : email), to: &output)
        append(3, kept.extracting(name), to: &output)
        append(4, kept.extracting(groups), to: &output)
    }

    private func append(_ index: Int, _ value: Span<UInt8>, to output: inout [UInt8]) {
        output += names[index]
        output.append(addingCapacity: value.count + 2) { target in
            for index in value.indices { target.append(value[index]) }
            target.append(0x0d)
            target.append(0x0a)
        }
    }
}
