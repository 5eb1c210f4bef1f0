internal import AppleID
internal import Coding

/// Why a line is not a person. Names members, never their values.
package struct ImportLineError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// The members of a line, or of an object in it, with their expected types. Null counts as absent.
struct LineFields {
    let object: JSONObject
    private let prefix: String

    /// - Parameters:
    ///   - names: all members it may have: a misspelt one would be silently lost.
    ///   - prefix: stands before a member's name in what is said of it.
    init(_ object: JSONObject, prefix: String = "", names: [String], else refusal: (String) -> String)
        throws(ImportLineError)
    {
        if let unknown = object.members.first(where: { member in !names.contains { $0.isExactly(member.name) } }) {
            throw ImportLineError(refusal(unknown.name.quoted))
        }
        self.object = object
        self.prefix = prefix
    }

    static func object(parsing bytes: [UInt8], depth: Int) throws(ImportLineError) -> JSONObject {
        let value: JSONValue
        do {
            value = try JSONReader.parse(
                bytes, limits: JSONLimits(maximumBytes: LineReader.longestLine, maximumDepth: depth))
        } catch {
            throw ImportLineError("no JSON: \(error.reason.rawValue), at byte \(error.offset + 1)")
        }
        guard let object = value.objectValue else { throw ImportLineError("no JSON object") }
        return object
    }

    func text(_ name: String) throws(ImportLineError) -> String? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.stringValue else { throw ImportLineError("\(prefix)\(name) is not a string") }
        return text
    }

    /// A text, or a whole number: databases write either.
    func identifier(_ name: String) throws(ImportLineError) -> String? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.identifierText else {
            throw ImportLineError("\(prefix)\(name) is neither a string nor a whole number")
        }
        return text
    }

    func flag(_ name: String) throws(ImportLineError) -> Bool? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let flag = EmailClaims.flag(value) else {
            throw ImportLineError("\(prefix)\(name) is neither true nor false")
        }
        return flag
    }

    static func checkToken(_ text: String, _ name: String, longest: Int) throws(ImportLineError) {
        let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard !text.isEmpty, text.utf8.count <= longest, isPlain else {
            throw ImportLineError("\(name) is not 1 to \(longest) printable ASCII characters without blanks")
        }
    }
}

extension JSONValue {
    var identifierText: String? { stringValue ?? int64Value.map { String($0) } }
}
