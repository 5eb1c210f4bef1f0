import Foundation

/// The text files of the repository, as the architecture tests read them; or a few planted ones.
struct Repository: Sendable {
    /// Path from the root → text.
    let files: [String: String]
    /// Path from the root → the code of a Swift file that is not a test: see `SwiftCode`.
    let code: [String: String]

    /// What a rule is tried on: only the planted files.
    init(planted files: [String: String]) {
        self.files = files
        code = files.filter { $0.key.hasSuffix(".swift") && !$0.key.hasPrefix("Tests/") }.mapValues(SwiftCode.of)
    }

    /// The one these tests were built from.
    static let real = Repository(planted: Repository.read(root))

    static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized

    var paths: [String] { files.keys.sorted() }

    /// Swift files of the programs: what is shipped.
    var sources: [String] {
        paths.filter { $0.hasSuffix(".swift") && ($0.hasPrefix("Sources/") || $0.hasPrefix("Public/")) }
    }

    /// Everything written for people.
    var documents: [String] { paths.filter { $0.hasSuffix(".md") } }

    /// Whether a file or a folder of this path is in the repository.
    func holds(_ path: String) -> Bool {
        files[path] != nil || files.keys.contains { $0.hasPrefix(path.hasSuffix("/") ? path : path + "/") }
            || FileManager.default.fileExists(atPath: Self.root.appending(path: path).path)
    }

    /// Folders and files that are built or written by a run, and never committed.
    private static let ignored: Set<String> = [".git", ".venv", ".DS_Store", "Package.resolved", "config.json", "data"]

    private static func read(_ root: URL) -> [String: String] {
        var files: [String: String] = [:]
        func visit(_ folder: URL, _ prefix: String) {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
                let path = prefix + name
                if prefix.isEmpty && (ignored.contains(name) || name.hasPrefix(".build")) { continue }
                if name == "__pycache__" || name == "Vectors" || name == "images" { continue }
                let url = folder.appending(path: name)
                if let type = try? url.resourceValues(forKeys: [.isDirectoryKey]), type.isDirectory == true {
                    visit(url, path + "/")
                } else if let bytes = try? Data(contentsOf: url), let text = String(bytes: bytes, encoding: .utf8) {
                    files[path] = text
                }
            }
        }
        visit(root, "")
        return files
    }
}

extension Repository {
    /// The lines of code that hold `pattern`, as `path:line`.
    func occurrences(of pattern: Pattern, inCodeOf paths: [String]) -> [(place: String, path: String)] {
        var found: [(String, String)] = []
        for path in paths {
            // The whole file first: hardly any holds what is looked for.
            guard let text = code[path], pattern.isIn(text) else { continue }
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() where pattern.isIn(String(line)) {
                found.append(("\(path):\(index + 1)", path))
            }
        }
        return found
    }
}

/// A regular expression as ICU reads it: over all sources a tenth of the time of Swift's own `Regex`.
struct Pattern: ExpressibleByStringLiteral {
    private let expression: NSRegularExpression

    init(stringLiteral pattern: String) {
        self.init(pattern)
    }

    init(_ pattern: String) {
        do { expression = try NSRegularExpression(pattern: pattern) } catch { fatalError("\(pattern): \(error)") }
    }

    func isIn(_ text: String) -> Bool {
        expression.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
    }
}

/// The code of a Swift source: comments and the text of literals are blanked, line breaks and interpolated code stay.
enum SwiftCode {
    static func of(_ text: String) -> String {
        var scanner = Scanner(bytes: Array(text.utf8))
        scanner.scanCode(insideInterpolation: false)
        return String(decoding: scanner.output, as: UTF8.self)
    }

    private struct Scanner {
        let bytes: [UInt8]
        var index = 0
        var output: [UInt8] = []

        init(bytes: [UInt8]) {
            self.bytes = bytes
            output.reserveCapacity(bytes.count)
        }

        private func at(_ offset: Int) -> UInt8? { index + offset < bytes.count ? bytes[index + offset] : nil }

        private func begins(_ text: String) -> Bool {
            var position = index
            for byte in text.utf8 {
                guard position < bytes.count, bytes[position] == byte else { return false }
                position += 1
            }
            return true
        }

        private mutating func keep() {
            output.append(bytes[index])
            index += 1
        }

        /// Blanks bytes, but for line breaks.
        private mutating func blank(_ count: Int = 1) {
            for _ in 0..<count where index < bytes.count {
                output.append(bytes[index] == UInt8(ascii: "\n") ? bytes[index] : UInt8(ascii: " "))
                index += 1
            }
        }

        mutating func scanCode(insideInterpolation: Bool) {
            var depth = 0
            while index < bytes.count {
                switch bytes[index] {
                case UInt8(ascii: "/") where at(1) == UInt8(ascii: "/"):
                    while let byte = at(0), byte != UInt8(ascii: "\n") { blank() }
                case UInt8(ascii: "/") where at(1) == UInt8(ascii: "*"):
                    scanBlockComment()
                case UInt8(ascii: "\""), UInt8(ascii: "#"):
                    if let marks = literalMarks() { scanLiteral(marks: marks) } else { keep() }
                case UInt8(ascii: "(") where insideInterpolation:
                    depth += 1
                    keep()
                case UInt8(ascii: ")") where insideInterpolation:
                    depth -= 1
                    keep()
                    if depth == 0 { return }
                default:
                    keep()
                }
            }
        }

        private mutating func scanBlockComment() {
            var depth = 0
            repeat {
                if begins("/*") {
                    depth += 1
                    blank(2)
                } else if begins("*/") {
                    depth -= 1
                    blank(2)
                } else {
                    blank()
                }
            } while depth > 0 && index < bytes.count
        }

        /// The number of `#` before a quotation mark that begins here.
        private func literalMarks() -> Int? {
            var marks = 0
            while at(marks) == UInt8(ascii: "#") { marks += 1 }
            return at(marks) == UInt8(ascii: "\"") ? marks : nil
        }

        private func marksFollow(_ offset: Int, _ count: Int) -> Bool {
            (0..<count).allSatisfy { at(offset + $0) == UInt8(ascii: "#") }
        }

        private mutating func scanLiteral(marks: Int) {
            blank(marks)
            let quotes = begins("\"\"\"") ? 3 : 1
            for _ in 0..<quotes { keep() }
            while let byte = at(0) {
                if byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\n") {
                    blank()
                } else if byte == UInt8(ascii: "\\"), marksFollow(1, marks) {
                    blank(1 + marks)
                    if begins("(") { scanCode(insideInterpolation: true) } else { blank() }
                } else if quotes == 3 ? begins("\"\"\"") : begins("\""), marksFollow(quotes, marks) {
                    for _ in 0..<quotes { keep() }
                    return blank(marks)
                } else if quotes == 1, byte == UInt8(ascii: "\n") {
                    return
                } else {
                    blank()
                }
            }
        }
    }
}
