internal import AppleID
internal import Coding

/// Where the export of a product has what an import needs. An account's own address counts as Apple's word only where
/// nothing but the Apple identity can have brought it: otherwise it may be another provider's.
struct ImportLayout: Sendable {
    struct Fields: Sendable {
        var subject: [FieldPath] = []
        var email: [FieldPath] = []
        var isVerified: [FieldPath] = []
        var verifiedAt: [FieldPath] = []
        var isPrivate: [FieldPath] = []
        var given: [FieldPath] = []
        var family: [FieldPath] = []
        /// The whole name, where the product keeps no parts.
        var name: [FieldPath] = []
    }

    /// The list of the account's identities; nil where each line is one identity.
    var identities: FieldPath?
    var provider: FieldPath
    var apple: String
    var identity: Fields
    var account = Fields()
    var id: FieldPath
    /// What precedes the subject in the id of an account that Apple's identity made.
    var idPrefix: String?
    /// One of these has a value if the account has other methods to sign in than its identities.
    var otherMethods: [FieldPath] = []
    var disabled: FieldPath?
    var enabled: FieldPath?
    /// One of these has a value if the person is disabled.
    var disabledSince: [FieldPath] = []

    /// - Returns: members of `ImportLine`, and further Apple identities of the account; nil without an Apple identity.
    func person(_ line: JSONObject) throws(InputFlaw) -> (members: JSONObject, others: [String])? {
        let all = identities(of: line)
        let ofApple = all.filter { provider.value(in: $0) == .string(apple) }
        let subjects = ofApple.compactMap { identity.subject.value(in: $0) }
        let maker = idPrefix.flatMap { prefix in
            id.value(in: line)?.stringValue.flatMap { $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : nil }
        }
        let made = maker.map { JSONValue.string($0) }
        let hasNoList = identities != nil && identities?.value(in: line) == nil
        guard let subject = subjects.first(where: { $0 == made }) ?? subjects.first ?? (hasNoList ? made : nil) else {
            return nil
        }
        let entry = ofApple.first { identity.subject.value(in: $0) == subject } ?? JSONObject()
        // Where the id says which identity made the account, the list need not have them all.
        let isOnlyMethod =
            subject == made || (idPrefix == nil && all.count == 1 && !otherMethods.isSet(in: line))

        var members = JSONObject([("appleSubject", subject)])
        members["externalID"] = id.value(in: line)
        if try isDisabled(line) { members["disabled"] = true }
        addEmail(to: &members, line, entry, isOnlyMethod: isOnlyMethod)
        let name = name(line, entry)
        if !name.isEmpty { members["name"] = .object(name) }
        var others: [String] = []
        for other in subjects.compactMap(\.identifierText) where !others.contains(where: { $0.isExactly(other) }) {
            if subject.identifierText?.isExactly(other) != true { others.append(other) }
        }
        return (members, others)
    }

    private func identities(of line: JSONObject) -> [JSONObject] {
        guard let identities else { return [line] }
        return identities.value(in: line)?.arrayValue?.compactMap(\.objectValue) ?? []
    }

    /// The identity's own address; the account's where it can only be the same.
    private func addEmail(to members: inout JSONObject, _ line: JSONObject, _ entry: JSONObject, isOnlyMethod: Bool) {
        let own = identity.email.value(in: entry)?.nonEmptyText
        let ofAccount = account.email.value(in: line)?.nonEmptyText
        // As at a sign-in, an invalid address counts as absent.
        guard let address = own ?? (isOnlyMethod ? ofAccount : nil), EmailClaims.isSafe(address) else { return }
        members["email"] = .string(address)
        let isSame = address.isExactly(ofAccount ?? "")
        members["emailVerified"] = .bool(
            identity.isVerified(entry) ?? (isSame ? account.isVerified(line) : nil) ?? false)
        let isPrivate = identity.isPrivate.value(in: entry) ?? (isSame ? account.isPrivate.value(in: line) : nil)
        if let isPrivate { members["isPrivateEmail"] = .bool(EmailClaims.isTrue(isPrivate)) }
    }

    /// A whole name becomes the given one: Apple does not send names again.
    private func name(_ line: JSONObject, _ entry: JSONObject) -> JSONObject {
        for (fields, object) in [(identity, entry), (account, line)] {
            var parts = JSONObject()
            parts["given"] = fields.given.value(in: object)
            parts["family"] = fields.family.value(in: object)
            if !parts.isEmpty { return parts }
            // Some products write the address as the name of people without one.
            guard let name = fields.name.value(in: object), name != fields.email.value(in: object),
                name != account.email.value(in: line)
            else { continue }
            return ["given": name]
        }
        return JSONObject()
    }

    /// - Throws: when the line is unclear: a misreading must not enable anybody.
    private func isDisabled(_ line: JSONObject) throws(InputFlaw) -> Bool {
        if disabledSince.isSet(in: line) { return true }
        if let value = disabled?.value(in: line) { return try flag(value, "disabled") }
        if let value = enabled?.value(in: line) { return try !flag(value, "enabled") }
        return false
    }

    private func flag(_ value: JSONValue, _ meaning: String) throws(InputFlaw) -> Bool {
        switch value {
        case true, "true", "t", 1, "1": return true
        case false, "false", "f", 0, "0", "": return false
        default: throw InputFlaw("the \(meaning) flag is neither true nor false")
        }
    }
}

extension ImportLayout.Fields {
    fileprivate func isVerified(_ object: JSONObject) -> Bool? {
        if let value = isVerified.value(in: object) { return EmailClaims.isTrue(value) }
        if let value = verifiedAt.value(in: object) { return EmailClaims.isTrue(value) || value.isTime }
        return nil
    }
}

extension JSONValue {
    fileprivate var nonEmptyText: String? { stringValue.flatMap { $0.isEmpty ? nil : $0 } }

    /// A date, or seconds or milliseconds since 1970, later than 2001; databases write a zero or 1970 for none.
    fileprivate var isTime: Bool {
        if let number = int64Value { return number >= 1_000_000_000 }
        guard let text = stringValue?.utf8.prefix(10), text.count == 10 else { return false }
        return zip(text, "0000-00-00".utf8).allSatisfy { byte, model in
            model == UInt8(ascii: "-") ? byte == model : (0x30...0x39).contains(byte)
        } && !text.lexicographicallyPrecedes("1970-01-02".utf8)
    }
}

/// Where an export has a value: the names of members from the outside in, with dots between them.
struct FieldPath: Hashable, Sendable, ExpressibleByStringLiteral {
    private let names: [String]

    init(stringLiteral text: String) { names = text.split(separator: ".").map(String.init) }

    /// Nil where the path leads nowhere, or to null.
    func value(in object: JSONObject) -> JSONValue? {
        var value = JSONValue.object(object)
        for name in names {
            guard let next = value.objectValue?[name] else { return nil }
            value = next
        }
        if value.isNull { return nil }
        return value
    }
}

extension [FieldPath] {
    func value(in object: JSONObject) -> JSONValue? {
        for path in self {
            if let value = path.value(in: object) { return value }
        }
        return nil
    }

    /// Whether one leads to something that is neither false, nor zero, nor empty.
    func isSet(in object: JSONObject) -> Bool {
        contains { path in
            switch path.value(in: object) {
            case nil, .null, false, 0, "": false
            case .array(let values): !values.isEmpty
            case .object(let members): !members.isEmpty
            default: true
            }
        }
    }
}
