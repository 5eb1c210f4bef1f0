/// Templates by name, which may include and extend each other.
struct TemplateLibrary: Sendable {
    /// More than templates that do not include themselves ever reach; `TemplateCheck` refuses those that do.
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
