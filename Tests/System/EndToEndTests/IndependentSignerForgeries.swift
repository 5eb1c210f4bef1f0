import AppleSimulator
import Coding
import Foundation
import IndependentSigning
import Testing

/// One change of an otherwise sound token.
struct Forgery: Sendable, CustomTestStringConvertible {
    var name: String
    /// Texts of header and claims, changed.
    var header: @Sendable (String) -> String = { $0 }
    var payload: @Sendable (String) -> String = { $0 }
    /// How it is really signed, and by whom.
    var method = "RS256"
    var key = IndependentSigner.firstKey
    /// The compact form, changed after signing.
    var compact: @Sendable (String) -> String = { $0 }

    var testDescription: String { name }

    /// Members of the claims set or (null) removed.
    static func claims(_ name: String, _ members: JSON) -> Forgery {
        Forgery(name: name, payload: { merge(members, into: $0) })
    }

    static func header(_ name: String, _ members: JSON) -> Forgery {
        Forgery(name: name, header: { merge(members, into: $0) })
    }

    /// Text put at the end of the claims, after removing a member: for what no JSON writer writes.
    static func raw(_ name: String, without member: String? = nil, _ text: String) -> Forgery {
        Forgery(
            name: name,
            payload: { payload in
                var base = payload
                if let member { base = merge(.object([:]).setting(member, .null), into: base) }
                return base.dropLast() + "," + text + "}"
            })
    }

    static func rawHeader(_ name: String, _ text: String) -> Forgery {
        Forgery(name: name, header: { $0.dropLast() + "," + text + "}" })
    }

    private static func merge(_ members: JSON, into text: String) -> String {
        var json = JSON(parsing: Array(text.utf8)) ?? [:]
        for member in members.members {
            if member.value.isNull { json[member.name] = nil } else { json[member.name] = member.value }
        }
        return json.text
    }

    func token(header: JSON, claims: JSON) async throws -> String {
        compact(
            try await IndependentSigner.shared.sign(
                header: self.header(header.text), payload: payload(claims.text), key: key, method: method))
    }
}

extension JSON {
    /// With a member set, null included.
    func setting(_ name: String, _ value: JSON) -> JSON {
        var changed = self
        changed[name] = value
        return changed
    }

    /// Header or claims of a compact token.
    static func part(_ index: Int, of token: String) -> JSON {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return .null }
        var text = parts[index].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        return Data(base64Encoded: text).flatMap { JSON(parsing: Array($0)) } ?? .null
    }
}
