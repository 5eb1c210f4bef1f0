import Accounts
package import Coding

/// Parses the access rules from JSON, strictly: `{"rules": [{"host", "path", "methods", "allow"}, …]}`. An unknown
/// member might be a restriction that never applies, so each is an error, and all errors are reported at once.
package struct AccessRulesFile {
    /// A larger file is a mistake.
    package static let maximumBytes = 1_048_576
    package static let maximumRules = 1_000

    package struct Problem: Hashable, Sendable {
        /// `rule 3, path`, or empty for the whole file.
        package var place: String
        package var fault: String
        package var remedy: String
    }

    package enum Refusal: Error, Hashable, Sendable {
        case json(JSONError)
        /// At least one, in the file's order.
        case problems([Problem])
    }

    private static let form = "Write {\"rules\": [{\"host\": …, \"path\": …, \"allow\": …}]}."
    private var problems: [Problem] = []
    private var place = ""

    package static func read(_ bytes: [UInt8]) throws(Refusal) -> AccessRules {
        let limits = JSONLimits(maximumBytes: maximumBytes, maximumDepth: 8)
        let document = try translating(try JSONReader.parse(bytes, limits: limits), Refusal.json)
        var file = AccessRulesFile()
        let rules = file.rules(document)
        guard file.problems.isEmpty else { throw .problems(file.problems) }
        return AccessRules(rules)
    }

    private mutating func rules(_ document: JSONValue) -> [AccessRules.Rule] {
        guard let object = document.objectValue, let list = object["rules"]?.arrayValue else {
            fail("holds no list of rules.", Self.form)
            return []
        }
        for member in object.members where !member.name.isExactly("rules") {
            fail("holds \(Self.quoted(member.name)) besides the rules.", Self.form)
        }
        if list.isEmpty { fail("holds no rule.", "Remove forwardAuth.rulesFile to admit everyone who is signed in.") }
        if list.count > Self.maximumRules {
            fail("holds \(list.count) rules.", "Write at most \(Self.maximumRules).")
            return []
        }
        return list.enumerated().compactMap { index, value in rule(value, number: index + 1) }
    }

    private mutating func rule(_ value: JSONValue, number: Int) -> AccessRules.Rule? {
        place = "rule \(number)"
        guard let object = value.objectValue else {
            fail(
                "is not an object.", "Write {\"host\": \"app.example.com\", \"path\": \"/*\", \"allow\": \"signedIn\"}."
            )
            return nil
        }
        for member in object.members where !["host", "path", "methods", "allow"].contains(where: member.name.isExactly)
        {
            fail("has the unknown member \(Self.quoted(member.name)).", "Write host, path, methods and allow only.")
        }
        place = "rule \(number), host"
        let host = host(object["host"])
        place = "rule \(number), path"
        let path = path(object["path"])
        place = "rule \(number), methods"
        let methods = methods(object["methods"])
        place = "rule \(number), allow"
        let access = access(object["allow"])
        guard let host, let path, let methods, let access else { return nil }
        return AccessRules.Rule(host: host, path: path, methods: methods, access: access)
    }

    // MARK: Requests

    private mutating func host(_ value: JSONValue?) -> AccessRules.HostPattern? {
        guard let value else { return .any }
        let remedy = "Write \"app.example.com\", \"*.example.com\" or \"*\": in lower case, without port."
        guard let text = value.stringValue else { return fail("is not a string.", remedy) }
        if text == "*" { return .any }
        let isBelow = text.hasPrefix("*.")
        let name = Array((isBelow ? text.dropFirst(2) : text[...]).utf8)
        guard Self.isHostName(name) else { return fail("is \(Self.quoted(text)).", remedy) }
        return isBelow ? .below([UInt8(ascii: ".")] + name) : .exact(name)
    }

    private static func isHostName(_ name: [UInt8]) -> Bool {
        let isPlain = name.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789-._".utf8.contains)
        return isPlain && (1...253).contains(name.count) && AccessRules.isCanonicalHost(name.span)
    }

    private mutating func path(_ value: JSONValue?) -> AccessRules.PathPattern? {
        guard let value else { return .below([]) }
        let remedy = "Write \"/a/page\", or \"/a/*\" for /a and all below it; decoded, without query."
        guard let text = value.stringValue else { return fail("is not a string.", remedy) }
        let isBelow = text.utf8.suffix(2).elementsEqual("/*".utf8)
        let path = Array(isBelow ? Array(text.utf8.dropLast(2)) : Array(text.utf8))
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        // A trailing slash is part of an exact path.
        let inner = isBelow ? segments : segments.dropLast()
        let isAbsolute = path.first == UInt8(ascii: "/") || isBelow && path.isEmpty
        let hasDots = segments.contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
        let isPlain = path.allSatisfy { $0 >= 0x20 && $0 != 0x7F && !Array("*?#%;\\".utf8).contains($0) }
        guard isAbsolute, isPlain, !hasDots, !inner.contains(where: \.isEmpty) else {
            return fail("is \(Self.quoted(text)).", remedy)
        }
        return isBelow ? .below(path) : .exact(path)
    }

    private mutating func methods(_ value: JSONValue?) -> [[UInt8]]? {
        guard let value else { return [] }
        let remedy = "Write methods in capitals, such as [\"GET\", \"POST\"]; without this member, all methods match."
        guard let texts = texts(value, remedy) else { return nil }
        for text in texts {
            guard text.utf8.count <= 32, text.utf8.allSatisfy({ (0x41...0x5A).contains($0) || $0 == 0x2D }) else {
                return fail("names \(Self.quoted(text)).", remedy)
            }
        }
        let addsHead = texts.contains("GET") && !texts.contains("HEAD")
        return (texts + (addsHead ? ["HEAD"] : [])).map { Array($0.utf8) }
    }

    // MARK: People

    private mutating func access(_ value: JSONValue?) -> AccessRules.Access? {
        let remedy = "Write \"public\", \"optional\", \"signedIn\", or an object with groups, users or emailDomains."
        switch value {
        case nil: return fail("is missing.", remedy)
        case .string(let word)? where word.isExactly("public"): return .everyone
        case .string(let word)? where word.isExactly("optional"): return .optional
        case .string(let word)? where word.isExactly("signedIn"): return .signedIn
        case .string(let word)?: return fail("is \(Self.quoted(word)).", remedy)
        case .object(let object)?: return listed(object, remedy).map { .listed($0) }
        default: return fail("is neither a word nor an object.", remedy)
        }
    }

    private mutating func listed(_ object: JSONObject, _ remedy: String) -> AccessRules.Listed? {
        guard !object.isEmpty else { return fail("lists nobody.", remedy) }
        var listed = AccessRules.Listed()
        var isGood = true
        for member in object.members {
            let here = place
            place += ".\(member.name)"
            switch member.name {
            case "groups": isGood = groups(member.value, into: &listed) && isGood
            case "users": isGood = users(member.value, into: &listed) && isGood
            case "emailDomains": isGood = domains(member.value, into: &listed) && isGood
            default:
                place = here
                fail("has the unknown member \(Self.quoted(member.name)).", remedy)
                isGood = false
            }
            place = here
        }
        return isGood ? listed : nil
    }

    private mutating func groups(_ value: JSONValue, into listed: inout AccessRules.Listed) -> Bool {
        let remedy = "Write names of groups, such as [\"staff\"]."
        guard let texts = texts(value, remedy) else { return false }
        if let text = texts.first(where: { !UserLimits.accepts(group: $0) }) {
            fail("names \(Self.quoted(text)), which is not a valid group name.", remedy)
            return false
        }
        listed.groups = texts
        return true
    }

    private mutating func users(_ value: JSONValue, into listed: inout AccessRules.Listed) -> Bool {
        let remedy = "Write Bramley's ids (usr_…) and verified e-mail addresses."
        guard let texts = texts(value, remedy) else { return false }
        for text in texts {
            if text.hasPrefix("usr_"), text.utf8.count > 4, text.isVisibleASCII, !text.contains("@") {
                listed.users.append(text)
            } else if Self.isAddress(text) {
                listed.addresses.append(text.lowercased())
            } else {
                fail("names \(Self.quoted(text)).", remedy)
                return false
            }
        }
        return true
    }

    private mutating func domains(_ value: JSONValue, into listed: inout AccessRules.Listed) -> Bool {
        let remedy = "Write whole domains without @ and *, such as [\"example.com\"]."
        guard let texts = texts(value, remedy) else { return false }
        for text in texts {
            let domain = text.lowercased()
            guard text.isVisibleASCII, Self.isHostName(Array(domain.utf8)), domain.contains(".") else {
                fail("names \(Self.quoted(text)).", remedy)
                return false
            }
            guard !EmailAddress.relayDomains.contains(domain) else {
                fail(
                    "names \(text), the domain of everyone who hides their address.",
                    "Write \"signedIn\", or list the people.")
                return false
            }
            listed.domains.append(domain)
        }
        return true
    }

    private static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return text.isVisibleASCII && parts.count == 2 && !parts[0].isEmpty && !text.contains("*")
            && isHostName(Array(parts[1].lowercased().utf8))
    }

    // MARK: Problems

    /// A list of at least one text, all different and none empty.
    private mutating func texts(_ value: JSONValue, _ remedy: String) -> [String]? {
        guard let values = value.arrayValue, !values.isEmpty else { return fail("is not a list with entries.", remedy) }
        var texts: [String] = []
        for value in values {
            guard let text = value.stringValue, !text.isEmpty else {
                return fail("has an entry that is not a string.", remedy)
            }
            if texts.contains(where: text.isExactly) { return fail("names \(Self.quoted(text)) twice.", remedy) }
            texts.append(text)
        }
        return texts
    }

    private mutating func fail(_ fault: String, _ remedy: String) {
        problems.append(Problem(place: place, fault: fault, remedy: remedy))
    }

    /// Returns nil, so that a caller can fail and return in one line.
    private mutating func fail<Value>(_ fault: String, _ remedy: String) -> Value? {
        problems.append(Problem(place: place, fault: fault, remedy: remedy))
        return nil
    }

    private static func quoted(_ text: String) -> String {
        text.count > 80 ? "\"\(text.prefix(77))...\"" : "\"\(text)\""
    }
}
