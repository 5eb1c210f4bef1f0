// Texts that a key names the file of, and its twin contains.
extension ConfigurationBuilder {
    struct GivenText {
        var key: String
        /// Nil when the configuration contains it.
        var path: String?
        var bytes: [UInt8]

        var text: String { String(decoding: bytes, as: UTF8.self) }
        var subject: String { path.map { "\($0.quoted) " } ?? "" }
    }

    /// Nil when nothing is given (`isMissing`), and after a problem.
    func given(_ fileKey: String, _ read: (_ key: String, _ path: String) -> [UInt8]?) -> GivenText? {
        let inlineKey = Self.twin(fileKey)
        let (path, inline) = (text(fileKey), text(inlineKey))
        guard !refuseTwins(fileKey, inlineKey) else { return nil }
        if let path { return read(fileKey, path).map { GivenText(key: fileKey, path: path, bytes: $0) } }
        let key = ConfigurationTable.byName[inlineKey]
        let holdsLines = key?.isSecret == true || key?.holdsLines == true
        return inline.map { GivenText(key: inlineKey, bytes: Array((holdsLines ? Self.lines($0) : $0).utf8)) }
    }

    /// The same for keys that name several secrets; each nil after a problem.
    func givenTexts(_ fileKey: String) -> [GivenText?]? {
        let inlineKey = Self.twin(fileKey)
        let (paths, inline) = (list(fileKey), list(inlineKey))
        guard !refuseTwins(fileKey, inlineKey), let paths, let inline else { return nil }
        return paths.map { path in
            readSecret(fileKey, path).map { GivenText(key: fileKey, path: path, bytes: $0) }
        } + inline.map { GivenText(key: inlineKey, bytes: Array(Self.lines($0).utf8)) }
    }

    private static func twin(_ fileKey: String) -> String { fileKey.replacing("File", with: "") }

    /// Environments cannot always contain line ends: \n represents one.
    private static func lines(_ text: String) -> String { text.replacing("\\n", with: "\n") }

    /// Whether neither a key nor its twin was given, not even with a refused value.
    func isMissing(_ fileKey: String) -> Bool {
        ![fileKey, Self.twin(fileKey)].contains { isGiven($0) || isRefused($0) }
    }

    /// Whether a key and its twin are both given, which is an error.
    func refuseTwins(_ first: String, _ second: String) -> Bool {
        guard isGiven(first), isGiven(second) else { return false }
        fail(first, "is given together with \(second).", "Remove one of the two.")
        return true
    }

    /// The text of a file with a secret, or nil and a problem. Checks its mode as well.
    func readSecret(_ key: String, _ path: String) -> [UInt8]? { readFile(key, path) { _ in true } }

    /// Nobody else may change the file, nor read one with a secret.
    func readFile(
        _ key: String, _ path: String, maximumBytes: Int = GuardedFile.longestKey, holdsSecret: (GuardedFile) -> Bool
    ) -> [UInt8]? {
        do throws(InputFlaw) {
            let file = try GuardedFile.read(path, maximumBytes: maximumBytes)
            if holdsSecret(file) {
                let source = source(of: key)
                if let problem = file.modeProblem(at: path, key: key, source: source, holdsSecret: true) {
                    problems.append(problem)
                }
            } else if file.isWritableByOthers {
                fail(key, "\(path.quoted) can be changed by other users.", "Run: chmod go-w \(path)")
                return nil
            }
            return file.bytes
        } catch {
            fail(key, "\(path.quoted) \(error.fault)", error.remedy)
            return nil
        }
    }
}
