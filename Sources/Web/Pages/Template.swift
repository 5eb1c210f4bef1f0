/// A parsed page template: the part of [Mustache](https://mustache.github.io/mustache.5.html) that pages use.
///
/// That is values, sections, inverted sections, comments, partials and inheritance. There are no delimiters, lambdas or
/// functions. Escaping belongs to the value (`PageValue`), so two braces and three mean the same.
struct Template: Sendable {
    indirect enum Node: Sendable {
        case text([UInt8])
        case value([String])
        case section([String], [Node])
        case invertedSection([String], [Node])
        case partial(String)
        /// Another template, with some of its blocks replaced.
        case parent(String, blocks: [String: [Node]])
        case block(String, [Node])
    }

    struct Tag: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            /// A value or a section.
            case value
            /// Another template, included or filled in.
            case template
        }

        var kind: Kind
        var name: String
        /// Counted from 1.
        var line: Int
    }

    let nodes: [Node]
    let tags: [Tag]

    /// - Throws: `TemplateFault` when the text is not a template.
    init(_ text: String) throws(TemplateFault) {
        var parser = TemplateParser(text)
        nodes = try parser.nodes(of: nil)
        tags = parser.tags
    }

    var templates: [String] { tags.filter { $0.kind == .template }.map(\.name) }
}

/// Why a text is not a template, and where. Lines and columns count from 1, columns in bytes.
struct TemplateFault: Error, Hashable, CustomStringConvertible {
    var line: Int
    var column: Int
    var reason: String

    var description: String { "line \(line), column \(column): \(reason)" }
}

private struct TemplateParser {
    /// Far more than any page needs; an operator's file must not exhaust the stack.
    private static let deepest = 64

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    /// The line of the byte at `counted`.
    private var line = 1
    private var counted = 0
    private(set) var tags: [Template.Tag] = []

    init(_ text: String) { bytes = Array(text.utf8) }

    /// The nodes up to the end of the section that `opening` begins; to the end of the text for nil.
    mutating func nodes(of opening: RawTag?) throws(TemplateFault) -> [Template.Node] {
        depth += 1
        defer { depth -= 1 }
        if let opening, depth > Self.deepest { throw fault(opening.start, "sections are nested too deeply") }
        var nodes: [Template.Node] = []
        while let tag = try nextTag(into: &nodes) {
            if tag.sigil == UInt8(ascii: "/") {
                guard let opening else { throw fault(tag.start, "\"\(tag.name)\" ends a section that does not begin") }
                guard tag.name == opening.name else {
                    throw fault(tag.start, "\"\(tag.name)\" ends the section \"\(opening.name)\"")
                }
                return nodes
            }
            if let node = try node(tag) { nodes.append(node) }
        }
        if let opening { throw fault(opening.start, "the section \"\(opening.name)\" does not end") }
        return nodes
    }

    private mutating func node(_ tag: RawTag) throws(TemplateFault) -> Template.Node? {
        func path() -> [String] { tag.name == "." ? [] : tag.name.split(separator: ".").map(String.init) }
        switch tag.sigil {
        case UInt8(ascii: "!"): return nil
        case UInt8(ascii: "#"):
            record(.value, tag)
            return .section(path(), try nodes(of: tag))
        case UInt8(ascii: "^"):
            record(.value, tag)
            return .invertedSection(path(), try nodes(of: tag))
        case UInt8(ascii: "$"): return .block(tag.name, try nodes(of: tag))
        case UInt8(ascii: ">"):
            record(.template, tag)
            return .partial(tag.name)
        case UInt8(ascii: "<"):
            record(.template, tag)
            return .parent(tag.name, blocks: try blocks(of: tag))
        case UInt8(ascii: "="): throw fault(tag.start, "delimiters cannot be changed; keep {{ and }}")
        default:
            record(.value, tag)
            return .value(path())
        }
    }

    private mutating func blocks(of tag: RawTag) throws(TemplateFault) -> [String: [Template.Node]] {
        var blocks: [String: [Template.Node]] = [:]
        for node in try nodes(of: tag) {
            switch node {
            case .block(let name, let content): blocks[name] = content
            case .text(let text) where text.allSatisfy(Self.isSpace): continue
            default: throw fault(tag.start, "only blocks may stand inside {{<\(tag.name)}}")
            }
        }
        return blocks
    }

    private mutating func record(_ kind: Template.Tag.Kind, _ tag: RawTag) {
        line += bytes[counted..<tag.start].count { $0 == 0x0A }
        counted = tag.start
        tags.append(Template.Tag(kind: kind, name: tag.name, line: line))
    }

    // MARK: Tags

    struct RawTag {
        /// `#`, `/`, `{` …; 0 for a plain value.
        var sigil: UInt8
        var name: String
        var start: Int
    }

    /// Appends the text before the next tag and moves past that tag; nil at the end.
    private mutating func nextTag(into nodes: inout [Template.Node]) throws(TemplateFault) -> RawTag? {
        guard let open = first("{{", from: position) else {
            append(position..<bytes.count, to: &nodes)
            position = bytes.count
            return nil
        }
        var index = open + 2
        while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
        let sigil = index < bytes.count && "!#/^$><={&".utf8.contains(bytes[index]) ? bytes[index] : 0
        if sigil != 0 { index += 1 }
        guard let close = first(sigil == UInt8(ascii: "{") ? "}}}" : "}}", from: index) else {
            throw fault(open, "the tag does not end")
        }
        let end = close + (sigil == UInt8(ascii: "{") ? 3 : 2)
        let name = String(decoding: bytes[index..<close], as: UTF8.self).filter { !$0.isWhitespace }
        guard !name.isEmpty || sigil == UInt8(ascii: "!") else { throw fault(open, "the tag has no name") }
        let isValue = sigil == 0 || sigil == UInt8(ascii: "{") || sigil == UInt8(ascii: "&")
        if !isValue, let line = lineAround(open, end) {
            append(position..<max(position, line.lowerBound), to: &nodes)
            position = line.upperBound
        } else {
            append(position..<open, to: &nodes)
            position = end
        }
        return RawTag(sigil: sigil, name: name, start: open)
    }

    /// The whole line, including its end, when there is only white space besides the tag: it leaves no empty line.
    private func lineAround(_ open: Int, _ end: Int) -> Range<Int>? {
        var start = open
        while start > 0, bytes[start - 1] != 0x0A {
            guard Self.isSpace(bytes[start - 1]) else { return nil }
            start -= 1
        }
        var stop = end
        while stop < bytes.count, bytes[stop] != 0x0A {
            guard Self.isSpace(bytes[stop]) else { return nil }
            stop += 1
        }
        return start..<min(stop + 1, bytes.count)
    }

    private func append(_ range: Range<Int>, to nodes: inout [Template.Node]) {
        if !range.isEmpty { nodes.append(.text(Array(bytes[range]))) }
    }

    private func first(_ mark: String, from start: Int) -> Int? {
        let mark = Array(mark.utf8)
        return (start..<max(start, bytes.count - mark.count + 1)).first { bytes[$0...].starts(with: mark) }
    }

    private func fault(_ position: Int, _ reason: String) -> TemplateFault {
        let lineStart = bytes[..<position].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let line = 1 + bytes[..<position].count { $0 == 0x0A }
        return TemplateFault(line: line, column: position - lineStart + 1, reason: reason)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }
}

/// Templates by name, which may include and extend each other.
struct TemplateLibrary: Sendable {
    /// More than templates that do not include themselves ever reach; `PageOverrides` refuses those that do.
    private static let deepest = 32

    var templates: [String: Template] = [:]

    /// - Returns: UTF-8; nil when there is no such template.
    func render(_ value: PageValue, withTemplate name: String) -> [UInt8]? {
        guard let template = templates[name] else { return nil }
        var rendering = Rendering(library: self, stack: [value])
        rendering.render(template.nodes)
        return rendering.page
    }

    private struct Rendering {
        let library: TemplateLibrary
        /// The values that names are looked up in, innermost last.
        var stack: [PageValue]
        /// Replacements for blocks of the template being rendered.
        var blocks: [String: [Template.Node]] = [:]
        var depth = 0
        var page: [UInt8] = []

        mutating func render(_ nodes: [Template.Node]) {
            for node in nodes { render(node) }
        }

        private mutating func render(_ node: Template.Node) {
            switch node {
            case .text(let text): page.append(contentsOf: text)
            case .value(let path): show(value(path))
            case .section(let path, let nodes): renderSection(value(path), nodes)
            case .invertedSection(let path, let nodes): if value(path)?.isShown != true { render(nodes) }
            case .block(let name, let nodes): render(blocks[name] ?? nodes)
            case .partial(let name): include(name, blocks: [:])
            // An outer template's replacement of a block takes precedence over an inner one's.
            case .parent(let name, let own): include(name, blocks: own.merging(blocks) { $1 })
            }
        }

        private mutating func renderSection(_ value: PageValue?, _ nodes: [Template.Node]) {
            guard let value, value.isShown else { return }
            if case .flag = value { return render(nodes) }
            var elements = [value]
            if case .list(let list) = value { elements = list }
            for element in elements {
                stack.append(element)
                render(nodes)
                stack.removeLast()
            }
        }

        private mutating func include(_ name: String, blocks included: [String: [Template.Node]]) {
            guard depth < TemplateLibrary.deepest, let template = library.templates[name] else { return }
            let outer = blocks
            blocks = included
            depth += 1
            render(template.nodes)
            depth -= 1
            blocks = outer
        }

        private mutating func show(_ value: PageValue?) {
            switch value {
            case .text(let text): page.append(contentsOf: HTMLText.escapedBytes(text))
            case .html(let html): page.append(contentsOf: html.utf8)
            case .flag, .list, .object, nil: break
            }
        }

        /// The first name is searched from the innermost value outwards, the rest inside what it names.
        private func value(_ path: [String]) -> PageValue? {
            guard let first = path.first else { return stack.last }
            for object in stack.reversed() {
                if let found = object.member(first) {
                    return path.dropFirst().reduce(found) { $0?.member($1) }
                }
            }
            return nil
        }
    }
}
