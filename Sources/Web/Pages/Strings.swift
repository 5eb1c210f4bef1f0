import Coding

/// The texts of one language: nested by page, with `{site}` and similar filled in once at start.
struct Strings: Sendable {
    /// For templates, as `t`.
    let tree: PageValue
    private let flat: [String: String]
    private let isRightToLeft: Bool

    /// With `fallback` for texts that this language's files lack, and `values` that replace `{name}` in every text.
    init(locale: String, files: PageFiles, fallback: Strings?, values: [String: String]) throws(PagesError) {
        let path = "strings/\(locale).json"
        let layers = files.layers(of: path)
        guard !layers.isEmpty else { throw .missing(path) }
        isRightToLeft = PageLocale.direction(of: locale) == "rtl"
        var texts: [String: String] = [:]
        for layer in layers { texts.merge(try StringsFile(layer, path: path).texts) { $1 } }
        let isRTL = isRightToLeft
        let own = texts.mapValues { Self.fill($0, values, isRightToLeft: isRTL) }
        flat = (fallback?.flat ?? [:]).merging(own) { $1 }
        tree = Self.tree(flat)
    }

    /// The text of a dotted key; the key itself when there is none, which a test rules out for the embedded files.
    subscript(key: String) -> String { flat[key] ?? key }

    func has(_ key: String) -> Bool { flat[key] != nil }

    var keys: [String] { flat.keys.sorted() }

    /// The text with values that differ per request. They are still text: escaped when rendered.
    func text(_ key: String, _ values: [String: String]) -> String {
        Self.fill(self[key], values, isRightToLeft: isRightToLeft)
    }

    /// The text with values in `<bdi>`, so that a name of either direction leaves the sentence around it alone.
    func html(_ key: String, _ values: [String: String]) -> PageValue {
        var result = ""
        Self.scan(self[key]) { piece in
            switch piece {
            case .text(let text): result += HTMLText.escape(String(text))
            case .name(let name):
                result += values[name].map { "<bdi>\(HTMLText.escape($0))</bdi>" } ?? HTMLText.escape("{\(name)}")
            }
        }
        return .html(result)
    }

    /// Dotted keys as nested objects; an empty text is a section that is omitted.
    private static func tree(_ flat: [String: String]) -> PageValue {
        tree(flat.map { (path: $0.key.split(separator: ".")[...], text: $0.value) })
    }

    private static func tree(_ texts: [(path: ArraySlice<Substring>, text: String)]) -> PageValue {
        if let leaf = texts.first(where: { $0.path.isEmpty }) {
            return leaf.text.isEmpty ? .flag(false) : .text(leaf.text)
        }
        let groups = Dictionary(grouping: texts) { String($0.path.first ?? "") }
        return .object(groups.mapValues { tree($0.map { (path: $0.path.dropFirst(), text: $0.text) }) })
    }

    // MARK: Placeholders, such as `{name}`

    enum Piece {
        case text(Substring)
        case name(String)
    }

    static func placeholders(in text: String) -> Set<String> {
        var names: Set<String> = []
        scan(text) { if case .name(let name) = $0 { names.insert(name) } }
        return names
    }

    /// Scans a text once, left to right: an inserted value is never searched for further names.
    static func scan(_ text: String, _ body: (Piece) -> Void) {
        // By bytes: only ASCII matters here, and finding characters would take most of the time.
        var rest = text[...]
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")),
            let close = rest.utf8[open...].firstIndex(of: UInt8(ascii: "}"))
        {
            let afterOpen = rest.utf8.index(after: open)
            let name = rest[afterOpen..<close]
            if !name.isEmpty, name.utf8.allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) }) {
                body(.text(rest[..<open]))
                body(.name(String(name)))
                rest = rest[rest.utf8.index(after: close)...]
            } else {
                body(.text(rest[..<afterOpen]))
                rest = rest[afterOpen...]
            }
        }
        body(.text(rest))
    }

    static func fill(_ text: String, _ values: [String: String], isRightToLeft: Bool) -> String {
        var result = ""
        scan(text) { piece in
            switch piece {
            case .text(let text): result += text
            case .name(let name):
                result += values[name].map { isolated($0, isRightToLeft: isRightToLeft) } ?? "{\(name)}"
            }
        }
        return result
    }

    /// A value isolated (UAX #9: FIRST STRONG, POP DIRECTIONAL) when its direction may differ from its text's.
    private static func isolated(_ value: String, isRightToLeft: Bool) -> String {
        guard isRightToLeft || value.unicodeScalars.contains(where: isRightToLeft(_:)) else { return value }
        return "\u{2068}\(value)\u{2069}"
    }

    /// Whether a character belongs to a right-to-left script, by its block.
    private static func isRightToLeft(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF: true
        default: false
        }
    }
}

/// One strings file: dotted keys and their texts.
struct StringsFile {
    private(set) var texts: [String: String] = [:]
    /// Entries that are neither text nor an object of texts.
    private(set) var faults: [String] = []

    init(_ bytes: [UInt8], path: String) throws(PagesError) {
        self = try StringsFile(lenient: bytes, path: path)
        if let fault = faults.first { throw .strings(path, fault) }
    }

    /// Continues after a fault; throws when it is not JSON.
    init(lenient bytes: [UInt8], path: String) throws(PagesError) {
        let value: JSONValue
        do {
            value = try JSONReader.parse(bytes)
        } catch {
            let before = bytes.prefix(error.offset)
            let line = before.count { $0 == 0x0A } + 1
            // As editors count: characters, not their bytes.
            let column = before.reversed().prefix { $0 != 0x0A }.count { $0 & 0xC0 != 0x80 } + 1
            throw .strings(path, "line \(line), column \(column): \(error.reason.rawValue)")
        }
        read(value, key: "")
    }

    private mutating func read(_ value: JSONValue, key: String) {
        switch value {
        case .string(let text) where !key.isEmpty: texts[key] = text
        case .object(let object):
            for member in object.members {
                read(member.value, key: key.isEmpty ? member.name : "\(key).\(member.name)")
            }
        default: faults.append("\(key.isEmpty ? "the file" : key) is neither text nor an object")
        }
    }
}
