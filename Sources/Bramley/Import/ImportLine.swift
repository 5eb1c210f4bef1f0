package import Accounts
internal import AppleID
internal import Coding

/// One line of an import, parsed and bounded: `{appleSubject, externalID, disabled, email, emailVerified,
/// isPrivateEmail, name: {given, family}, clientID, refreshToken}`. Only the first is required; null counts as absent;
/// other members are refused, since a misspelt one would be silently lost.
package struct ImportLine: Sendable {
    package var subject: AppleSubject
    package var externalID: String?
    package var isDisabled: Bool
    package var name: PersonName
    package var email: EmailAddress?
    package var credential: (clientID: ClientID, token: RefreshToken)?
    package var otherSubjects: [String]

    private static let members = [
        "appleSubject", "externalID", "disabled", "email", "emailVerified", "isPrivateEmail", "name", "clientID",
        "refreshToken",
    ]
    /// Printable ASCII without blanks, in bytes.
    package static let longestSubject = 255
    package static let longestToken = 4096

    /// - Returns: nil for a person of another product who has no Apple identity.
    package static func parse(
        _ bytes: [UInt8], from format: ImportFormat = .bramley, clientIDs: [String]
    ) throws(InputFlaw) -> ImportLine? {
        var object = try LineFields.object(parsing: bytes, depth: format.depth)
        var otherSubjects: [String] = []
        if let layout = format.layout {
            guard let person = try layout.person(object) else { return nil }
            (object, otherSubjects) = person
        }
        let fields = try LineFields(object, names: members) { "\($0) is not a known member" }
        guard let subject = try fields.identifier("appleSubject") else {
            throw InputFlaw("appleSubject is missing")
        }
        try LineFields.checkToken(subject, "appleSubject", longest: longestSubject)
        return ImportLine(
            subject: AppleSubject(subject), externalID: try externalID(fields),
            isDisabled: try fields.flag("disabled") ?? false, name: try name(fields), email: try email(fields),
            credential: try credential(fields, clientIDs), otherSubjects: otherSubjects)
    }

    private static func externalID(_ fields: LineFields) throws(InputFlaw) -> String? {
        guard let text = try fields.identifier("externalID") else { return nil }
        guard UserLimits.accepts(externalID: text) else {
            throw InputFlaw("externalID is not 1 to \(UserLimits.externalID) bytes without control characters")
        }
        return text
    }

    /// Made safe as at a sign-in; a part that is empty or contains nothing visible is absent.
    private static func name(_ fields: LineFields) throws(InputFlaw) -> PersonName {
        guard let value = fields.object["name"], !value.isNull else { return PersonName() }
        guard let object = value.objectValue else { throw InputFlaw("name is not an object") }
        let parts = try LineFields(object, prefix: "name.", names: ["given", "family"]) {
            "name has the unknown member \($0); only given and family are allowed"
        }
        return PersonName(
            given: try parts.text("given").flatMap(DisplayName.sanitize),
            family: try parts.text("family").flatMap(DisplayName.sanitize))
    }

    private static func email(_ fields: LineFields) throws(InputFlaw) -> EmailAddress? {
        let isVerified = try fields.flag("emailVerified")
        let isPrivate = try fields.flag("isPrivateEmail")
        guard let address = try fields.text("email") else {
            guard isVerified == nil, isPrivate == nil else {
                throw InputFlaw("emailVerified and isPrivateEmail require email")
            }
            return nil
        }
        guard EmailClaims.isSafe(address) else { throw InputFlaw("email is not a valid address") }
        return EmailAddress(
            address: address, isVerified: isVerified ?? false,
            isPrivate: isPrivate ?? EmailAddress.isAtKnownRelay(address))
    }

    private static func credential(
        _ fields: LineFields, _ clientIDs: [String]
    ) throws(InputFlaw) -> (clientID: ClientID, token: RefreshToken)? {
        let clientID = try fields.text("clientID")
        if let clientID, !clientIDs.contains(where: { $0.isExactly(clientID) }) {
            throw InputFlaw("clientID is neither apple.servicesID nor one of apple.bundleIDs")
        }
        guard let token = try fields.text("refreshToken") else { return nil }
        try LineFields.checkToken(token, "refreshToken", longest: longestToken)
        guard let clientID else { throw InputFlaw("refreshToken needs the clientID it was issued to") }
        return (ClientID(clientID), RefreshToken(token))
    }
}

/// The members of a line, or of an object in it, with their expected types. Null counts as absent.
struct LineFields {
    let object: JSONObject
    private let prefix: String

    /// - Parameter names: all members it may have: a misspelt one would be silently lost.
    init(_ object: JSONObject, prefix: String = "", names: [String], else refusal: (String) -> String)
        throws(InputFlaw)
    {
        if let unknown = object.members.first(where: { member in !names.contains { $0.isExactly(member.name) } }) {
            throw InputFlaw(refusal(unknown.name.quoted))
        }
        self.object = object
        self.prefix = prefix
    }

    static func object(parsing bytes: [UInt8], depth: Int) throws(InputFlaw) -> JSONObject {
        let limits = JSONLimits(maximumBytes: LineReader.longestLine, maximumDepth: depth)
        let value = try translating(try JSONReader.parse(bytes, limits: limits)) { (error: JSONError) in
            InputFlaw("not JSON: \(error.reason.rawValue), at byte \(error.offset + 1)")
        }
        guard let object = value.objectValue else { throw InputFlaw("not a JSON object") }
        return object
    }

    func text(_ name: String) throws(InputFlaw) -> String? { try read(name, \.stringValue, else: "not a string") }

    /// A text, or a whole number: databases write either.
    func identifier(_ name: String) throws(InputFlaw) -> String? {
        try read(name, \.identifierText, else: "neither a string nor a whole number")
    }

    func flag(_ name: String) throws(InputFlaw) -> Bool? {
        try read(name, EmailClaims.flag, else: "neither true nor false")
    }

    private func read<Value>(
        _ name: String, _ read: (JSONValue) -> Value?, else fault: String
    ) throws(InputFlaw) -> Value? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let found = read(value) else { throw InputFlaw("\(prefix)\(name) is \(fault)") }
        return found
    }

    static func checkToken(_ text: String, _ name: String, longest: Int) throws(InputFlaw) {
        guard (1...longest).contains(text.utf8.count), text.isVisibleASCII else {
            throw InputFlaw("\(name) is not 1 to \(longest) printable ASCII characters without spaces")
        }
    }
}

extension JSONValue {
    var identifierText: String? { stringValue ?? int64Value.map { String($0) } }
}
