import Mustache

/// A template as text, read for the names it uses: Mustache itself shows nothing for a name it does not know.
struct TemplateSource {
    struct Tag: Hashable {
        enum Kind: Hashable {
            /// A value or a section.
            case value
            /// Another template, included or filled in.
            case template
            /// `{{=`: what follows would be read wrongly here.
            case delimiters
        }

        var kind: Kind
        var name: String
        /// Counted from 1.
        var line: Int
    }

    private(set) var tags: [Tag] = []

    init(_ text: String) {
        var line = 1
        var rest = text[...]
        while let open = rest.firstRange(of: "{{") {
            line += rest[..<open.lowerBound].count(where: \.isNewline)
            rest = rest[open.upperBound...]
            let isTriple = rest.first == "{"
            guard let close = rest.firstRange(of: isTriple ? "}}}" : "}}") else { return }
            let content = rest[..<close.lowerBound]
            if let tag = Self.tag(isTriple ? content.dropFirst() : content, line: line) { tags.append(tag) }
            line += content.count(where: \.isNewline)
            rest = rest[close.upperBound...]
        }
    }

    /// The templates this one cannot do without.
    var templates: [String] { tags.filter { $0.kind == .template }.map(\.name) }

    private static func tag(_ content: Substring, line: Int) -> Tag? {
        let text = content.drop(while: \.isWhitespace)
        func name(_ text: Substring) -> String {
            // `uppercased(user.name)` names user.name.
            let inner = text.split(separator: "(").last ?? ""
            return String(inner.filter { !$0.isWhitespace && $0 != ")" })
        }
        switch text.first {
        case nil, "!", "/", "$", "%": return nil
        case "=": return Tag(kind: .delimiters, name: "", line: line)
        case ">", "<": return Tag(kind: .template, name: name(text.dropFirst()), line: line)
        case "#", "^", "&": return Tag(kind: .value, name: name(text.dropFirst()), line: line)
        default: return Tag(kind: .value, name: name(text), line: line)
        }
    }
}

/// What Mustache says about a template it cannot read, in words.
enum TemplateFault {
    /// - Parameter inserted: what stands before the file's own first character.
    static func text(of error: any Error, inserted: String) -> String {
        guard let fault = error as? MustacheTemplate.ParserError else { return "it is no template" }
        let context = fault.context
        let column = context.columnNumber - (context.lineNumber == 1 ? inserted.count : 0)
        return "line \(context.lineNumber), column \(max(1, column)): \(reason(fault.error))"
    }

    private static func reason(_ error: any Error) -> String {
        switch error as? MustacheTemplate.Error {
        case .sectionCloseNameIncorrect: "a section is closed by another name"
        case .expectedSectionEnd: "a section is not closed"
        case .unfinishedName: "a tag is not closed"
        case .invalidSetDelimiter: "the delimiters cannot be changed so"
        case .transformAppliedToInheritanceSection: "a block cannot be transformed"
        case .illegalTokenInsideInheritSection, .textInsideInheritSection:
            "only blocks may stand where a template is filled in"
        case .invalidConfigVariableSyntax, .unrecognisedConfigVariable: "this setting does not exist"
        case nil: "it ends too early"
        }
    }
}
