/// Markup that a page's Content-Security-Policy makes browsers ignore, for `bramley check`: it is not a filter.
enum RefusedMarkup {
    /// Each once, as the object of a sentence, and what to do; `style` attributes unless the page's policy allows them.
    static func all(in html: String, allowsStyle: Bool) -> [(text: String, remedy: String)] {
        var seen: Set<String> = []
        return tags(in: Array(html.utf8)).flatMap { tag in
            tag.attributes.compactMap { attribute in
                remedy(attribute, allowsStyle: allowsStyle).map { ("\($0.what) in <\(tag.name)>", $0.remedy) }
            }
        }.filter { seen.insert($0.0).inserted }
    }

    private static func remedy(
        _ attribute: (name: String, value: String), allowsStyle: Bool
    ) -> (what: String, remedy: String)? {
        if attribute.name.hasPrefix("on"), attribute.name.count > 2 {
            return (attribute.name, "Write a script with a nonce that adds the listener, where page.nonce is given.")
        }
        let value = attribute.value.lowercased().filter { !$0.isWhitespace }
        if addresses.contains(attribute.name), value.hasPrefix("javascript:") {
            return ("a javascript: address", "Write a real address, or a button with a listener.")
        }
        if attribute.name == "style", !allowsStyle {
            return ("a style attribute", "Move it to assets/bramley.css and give the element a class.")
        }
        return nil
    }

    private static let addresses: Set<String> = ["href", "src", "action", "formaction", "xlink:href", "data"]

    struct Tag {
        var name: String
        var attributes: [(name: String, value: String)] = []
    }

    /// The start tags, names in lower case, except in comments, scripts and styles.
    static func tags(in html: [UInt8]) -> [Tag] {
        var reader = Reader(html: html)
        var tags: [Tag] = []
        while let tag = reader.next() { tags.append(tag) }
        return tags
    }

    private struct Reader {
        let html: [UInt8]
        var index = 0

        mutating func next() -> Tag? {
            while index < html.count {
                guard html[index] == UInt8(ascii: "<") else {
                    index += 1
                    continue
                }
                if begins("<!--") {
                    skip(past: "-->")
                    continue
                }
                index += 1
                let isLetter = index < html.count && (0x61...0x7A).contains(html[index] | 0x20)
                guard isLetter else { continue }
                var tag = Tag(name: word { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ">") }.lowercased())
                while let attribute = attribute() { tag.attributes.append(attribute) }
                if tag.name == "script" || tag.name == "style" { skip(past: "</\(tag.name)") }
                return tag
            }
            return nil
        }

        /// Nil at the end of the tag.
        private mutating func attribute() -> (name: String, value: String)? {
            while index < html.count, isBlank(html[index]) || html[index] == UInt8(ascii: "/") { index += 1 }
            guard index < html.count, html[index] != UInt8(ascii: ">") else { return nil }
            let start = index
            // A name may begin with `=`, but not with the others.
            index += 1
            _ = word { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "=") }
            let name = String(decoding: html[start..<index], as: UTF8.self).lowercased()
            skipBlanks()
            guard index < html.count, html[index] == UInt8(ascii: "=") else { return (name, "") }
            index += 1
            skipBlanks()
            guard index < html.count else { return (name, "") }
            let quote = html[index]
            guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
                return (name, word { $0 == UInt8(ascii: ">") })
            }
            index += 1
            let value = html[index...].prefix { $0 != quote }
            index = min(value.endIndex + 1, html.count)
            return (name, String(decoding: value, as: UTF8.self))
        }

        private mutating func word(until isEnd: (UInt8) -> Bool) -> String {
            let word = html[index...].prefix { !isBlank($0) && !isEnd($0) }
            index = word.endIndex
            return String(decoding: word, as: UTF8.self)
        }

        private func isBlank(_ byte: UInt8) -> Bool { " \t\n\u{C}\r".utf8.contains(byte) }

        private mutating func skipBlanks() {
            while index < html.count, isBlank(html[index]) { index += 1 }
        }

        private func begins(_ text: String) -> Bool { html[index...].starts(with: text.utf8) }

        /// - Parameter text: not empty.
        private mutating func skip(past text: String) {
            let first = text.utf8.first
            // Scripts and styles are most of a page, and few of their bytes could begin their end.
            while index < html.count, html[index] != first || !begins(text) { index += 1 }
            index = min(index + text.utf8.count, html.count)
        }
    }
}
