import Crypto
import Public

/// The files of the pages: the embedded ones, each replaceable by the operator's own.
struct PageFiles: Sendable {
    private var files: [String: [UInt8]]
    private let overrides: [String: [UInt8]]

    init(overrides: [String: [UInt8]]) {
        files = EmbeddedFiles.all.merging(overrides) { $1 }
        self.overrides = overrides
    }

    /// With the site's logo, and its colour at the end of the style sheet.
    func branded(_ site: WebConfiguration.Site) -> PageFiles {
        var branded = self
        if let logo = site.logoFile { branded.files["assets/\(logo.name)"] = logo.bytes }
        if let color = site.accentColor { branded.files["assets/bramley.css", default: []] += Array(color.style.utf8) }
        return branded
    }

    /// The embedded file, then the operator's: for strings, where the later one replaces text by text.
    func layers(of path: String) -> [[UInt8]] {
        [EmbeddedFiles.content(of: path), overrides[path]].compactMap { $0 }
    }

    func text(_ path: String) throws(PagesError) -> String {
        guard let text = String(validating: try bytes(path), as: UTF8.self) else { throw .notUTF8(path) }
        return text
    }

    func bytes(_ path: String) throws(PagesError) -> [UInt8] {
        guard let bytes = files[path] else { throw .missing(path) }
        return bytes
    }

    var templates: [String] {
        names(below: "templates").filter { $0.hasSuffix(".mustache") }.map { String($0.dropLast(9)) }
    }

    /// Paths below `folder`, without it.
    func names(below folder: String) -> [String] {
        files.keys.filter { $0.hasPrefix(folder + "/") }.map { String($0.dropFirst(folder.count + 1)) }.sorted()
    }

    /// Changes whenever the content does, so that browsers may cache the file for ever.
    func version(of path: String) throws(PagesError) -> String {
        String(SHA256.hash(try bytes(path)).hexadecimal.prefix(16))
    }
}

/// Why the pages cannot be made; one line for the operator at start.
package enum PagesError: Error, Hashable, Sendable, CustomStringConvertible {
    case missing(String)
    case notUTF8(String)
    case template(String, String)
    case strings(String, String)
    case noLocale

    var path: String? {
        switch self {
        case .missing(let path), .notUTF8(let path), .template(let path, _), .strings(let path, _): path
        case .noLocale: nil
        }
    }

    package var description: String {
        switch self {
        case .missing(let path): "the page file \(path) is missing"
        case .notUTF8(let path): "the page file \(path) is not UTF-8"
        case .template(let path, let fault): "the template \(path) cannot be read: \(fault)"
        case .strings(let path, let fault): "the strings \(path) cannot be read: \(fault)"
        case .noLocale: "pages.locales is empty: name at least one language, such as \"en\""
        }
    }
}
