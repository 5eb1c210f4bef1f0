import Testing

@testable import Web

/// The rules are those of https://mustache.github.io/mustache.5.html and of the specification's sections on
/// interpolation, sections, inverted sections, comments, partials and inheritance.
struct TemplateTests {
    private static let values: PageValue = [
        "name": "Ann & <Bo>", "mark": .html("<b>bold</b>"), "yes": true, "no": false, "empty": .text(""),
        "none": .list([]), "user": ["name": "Cy", "address": ["city": "Rome"]],
        "list": .list([["n": "1"], ["n": "2"]]), "words": .list(["a", "b"]),
    ]

    @Test(arguments: [
        ("plain", "plain"), ("", ""),
        ("{{name}}", "Ann &amp; &lt;Bo&gt;"), ("{{{name}}}", "Ann &amp; &lt;Bo&gt;"),
        ("{{& name }}", "Ann &amp; &lt;Bo&gt;"), ("{{ mark }}", "<b>bold</b>"),
        ("[{{nobody}}]", "[]"), ("[{{user.nobody.city}}]", "[]"), ("{{user.address.city}}", "Rome"),
        ("{{#yes}}a{{/yes}}{{#no}}b{{/no}}{{^yes}}c{{/yes}}{{^no}}d{{/no}}", "ad"),
        ("{{#empty}}a{{/empty}}{{^empty}}b{{/empty}}", "a"),
        ("{{#nobody}}a{{/nobody}}{{^nobody}}b{{/nobody}}", "b"),
        ("{{#none}}a{{/none}}{{^none}}b{{/none}}", "b"),
        ("{{#user}}{{name}} {{mark}}{{/user}} {{name}}", "Cy <b>bold</b> Ann &amp; &lt;Bo&gt;"),
        ("{{#list}}{{n}},{{/list}}", "1,2,"), ("{{#words}}({{.}}){{/words}}", "(a)(b)"),
        ("{{#list}}{{#yes}}{{n}}{{/yes}}{{/list}}", "12"),
        ("a{{! {{ not a tag }}b", "ab"), ("{ {{name}} }", "{ Ann &amp; &lt;Bo&gt; }"),
        // Tags that stand alone leave no line.
        ("a\n{{#yes}}\nb\n{{/yes}}\nc\n", "a\nb\nc\n"), ("a\n  {{! x }}  \nb", "a\nb"), ("  {{#yes}}\n{{/yes}}", ""),
        ("a\r\n{{#yes}}\r\nb\r\n{{/yes}}\r\n", "a\r\nb\r\n"), ("a {{#yes}}\nb{{/yes}}", "a \nb"),
        ("{{name}}\n", "Ann &amp; &lt;Bo&gt;\n"),
        ("[{{>part}}]", "[Ann &amp; &lt;Bo&gt;!]"), ("{{#user}}{{>part}}{{/user}}", "Cy!"), ("[{{>missing}}]", "[]"),
        ("{{<frame}}{{/frame}}", "<title>None</title>"),
        ("{{<frame}}\n{{$title}}{{name}}{{/title}}\n{{/frame}}\n", "<title>Ann &amp; &lt;Bo&gt;</title>"),
        ("{{<outer}}{{$title}}Mine{{/title}}{{/outer}}", "<title>Mine</title>"),
        ("{{<outer}}{{/outer}}", "<title>Outer</title>"),
    ])
    func renders(template: String, expected: String) throws {
        var library = TemplateLibrary()
        library.templates = [
            "page": try Template(template), "part": try Template("{{name}}!"),
            "frame": try Template("<title>{{$title}}None{{/title}}</title>"),
            "outer": try Template("{{<frame}}{{$title}}Outer{{/title}}{{/frame}}"),
        ]
        let page = library.render(Self.values, withTemplate: "page").map { String(decoding: $0, as: UTF8.self) }
        #expect(page == expected)
        #expect(library.render(Self.values, withTemplate: "missing") == nil)
    }

    @Test(arguments: [
        ("{{#a}}", 1, 1, "the section \"a\" does not end"), ("x\n {{^a}}b", 2, 2, "the section \"a\" does not end"),
        ("{{#a}}\n{{/b}}", 2, 1, "\"b\" ends the section \"a\""),
        ("é{{/a}}", 1, 3, "\"a\" ends a section that does not begin"), ("{{a", 1, 1, "the tag does not end"),
        ("{{{a}}", 1, 1, "the tag does not end"), ("{{}}", 1, 1, "the tag has no name"),
        ("{{# }}{{/ }}", 1, 1, "the tag has no name"),
        ("{{=<% %>=}}", 1, 1, "delimiters cannot be changed; keep {{ and }}"),
        ("{{<a}}text{{/a}}", 1, 1, "only blocks may stand inside {{<a}}"),
    ])
    func refuses(template: String, line: Int, column: Int, reason: String) {
        #expect(throws: TemplateFault(line: line, column: column, reason: reason)) { _ = try Template(template) }
    }

    @Test func nestsSectionsAsDeepAsTheLimit() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "{{#a}}", count: depth) + String(repeating: "{{/a}}", count: depth)
        }
        _ = try Template(nested(63))
        #expect(throws: TemplateFault.self) { _ = try Template(nested(64)) }
        #expect(throws: TemplateFault.self) { _ = try Template(String(repeating: "{{#a}}", count: 100_000)) }
    }

    @Test func aTemplateThatIncludesItselfEnds() throws {
        var library = TemplateLibrary()
        library.templates["page"] = try Template("x{{>page}}")
        #expect(library.render([:], withTemplate: "page")?.count == 33)
    }

    @Test func listsTheNamesItUses() throws {
        let template = try Template("{{a.b}}\n{{#c}}\n{{^d}}{{/d}}{{/c}}\n{{>e}}{{<f}}{{$g}}{{h}}{{/g}}{{/f}}{{!i}}")
        let tags = template.tags.map { "\($0.line) \($0.kind) \($0.name)" }
        #expect(tags == ["1 value a.b", "2 value c", "3 value d", "4 template e", "4 template f", "4 value h"])
        #expect(template.templates == ["e", "f"])
    }
}
