import Coding

package enum KeyType: Hashable, Sendable {
    case text
    /// A whole number in the range; `unit` is for people: "seconds", "bytes", or empty for a count.
    case integer(ClosedRange<Int>, unit: String)
    case boolean
    /// A list of texts; comma-separated in the environment and in flags.
    case list
    case choice([String])
    /// A whole number of pixels in the range, or the text `100%`.
    case length(ClosedRange<Int>)

    var expectation: String {
        switch self {
        case .text: "a text"
        case .integer(let range, let unit):
            "a whole number\(unit.isEmpty ? "" : " of \(unit)") from \(range.lowerBound) to \(range.upperBound)"
        case .boolean: "true or false"
        case .list: "a list of texts"
        case .choice(let words): "one of \(words.joined(separator: ", "))"
        case .length(let range): "a whole number from \(range.lowerBound) to \(range.upperBound), or \"100%\","
        }
    }
}

package enum FileValue: Hashable, Sendable {
    case text(String)
    case integer(Int)
    case boolean(Bool)
    case list([String])

    /// - Parameter acceptsOneText: a list with one entry may be a text.
    init?(_ value: JSONValue, as type: KeyType, acceptsOneText: Bool) {
        switch (type, value) {
        case (.text, .string(let text)), (.choice, .string(let text)): self = .text(text)
        // Digits in quotation marks are not a number here either.
        case (.length, .string(let text)) where Int(text) == nil: self = .text(text)
        case (.integer, .number(let number)), (.length, .number(let number)):
            guard let integer = number.int64.flatMap({ Int(exactly: $0) }) else { return nil }
            self = .integer(integer)
        case (.boolean, .bool(let flag)): self = .boolean(flag)
        case (.list, .string(let text)) where acceptsOneText: self = .list([text])
        case (.list, _):
            guard let texts = value.textsValue else { return nil }
            self = .list(texts)
        default: return nil
        }
    }

    /// The environment and flags give a text, whatever the type, and what pasting adds. Nil when it has another type.
    func read(as type: KeyType) -> FileValue? {
        guard let text else { return list.map { .list($0.map(PastedText.trimmed)) } ?? self }
        switch type {
        case .text, .choice: return .text(PastedText.trimmed(text))
        case .length: return Int(text).map { .integer($0) } ?? .text(PastedText.trimmed(text))
        case .integer: return Int(text).map { .integer($0) }
        case .boolean:
            switch text.lowercased() {
            case "true", "yes", "1": return .boolean(true)
            case "false", "no", "0": return .boolean(false)
            default: return nil
            }
        case .list:
            let entries = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
                .map(PastedText.trimmed)
            return .list(entries == [""] ? [] : entries)
        }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var integer: Int? { if case .integer(let integer) = self { integer } else { nil } }
    var boolean: Bool? { if case .boolean(let flag) = self { flag } else { nil } }
    var list: [String]? { if case .list(let texts) = self { texts } else { nil } }

    var plain: String {
        switch self {
        case .text(let text): text
        case .integer(let number): "\(number)"
        case .boolean(let flag): "\(flag)"
        case .list(let texts): texts.joined(separator: ", ")
        }
    }

    var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .integer(let number): .integer(Int64(number))
        case .boolean(let flag): .bool(flag)
        case .list(let texts): .texts(texts)
        }
    }

    func mapTexts(_ change: (String) -> String) -> FileValue {
        switch self {
        case .text(let text): .text(change(text))
        case .list(let texts): .list(texts.map(change))
        case .integer, .boolean: self
        }
    }
}

extension FileValue: ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    package init(stringLiteral value: String) { self = .text(value) }
    package init(arrayLiteral elements: String...) { self = .list(elements) }
}
