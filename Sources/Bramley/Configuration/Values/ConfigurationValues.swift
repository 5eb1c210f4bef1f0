import Coding
import Configuration

/// Typed look-ups of the values of all sources, in the order flags, environment, file.
///
/// Only uses the throwing accessors of swift-configuration: the others return nil, and so a default, for a value they
/// cannot read (measured). Problems are collected, and every look-up returns something, so that one load finds all
/// problems.
final class ConfigurationValues {
    let problems: ProblemList
    private let reader: ConfigReader
    private let sources: [String: ConfigurationSource]
    /// Given, but already refused: neither missing nor readable.
    private let refused: Set<String>
    /// Whether a key can be reported missing.
    let isComplete: Bool
    /// The folder against which relative paths in the file, and in defaults, are resolved. Those in flags and the
    /// environment are relative to the working directory, where they were written.
    private let folder: ConfigurationFolder
    /// Paths as written in the file.
    private let written: [String: String]
    /// The keys that were read; a test compares them with the table.
    private(set) var asked: Set<String> = []
    /// The keys without a usable value.
    private(set) var failed: Set<String> = []

    init(
        flags: ConfigurationTexts, environment: ConfigurationTexts, file: ConfigurationFile, problems: ProblemList
    ) {
        self.problems = problems
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        var sources: [String: ConfigurationSource] = [:]
        var written: [String: String] = [:]
        folder = ConfigurationFolder(of: file.name)
        for (name, value) in file.values {
            sources[name] = .file(file.name)
            let key = ConfigurationTable.byName[name]
            if key?.isPath == true, case .text(let path) = value { written[name] = path }
            let value = key?.isPath == true ? folder.resolving(value) : value
            values[AbsoluteConfigKey(key?.components ?? [])] = ConfigValue(
                ConfigContent(value), isSecret: key?.isSecret ?? true)
        }
        sources.merge(environment.sources) { _, stronger in stronger }
        sources.merge(flags.sources) { _, stronger in stronger }
        self.sources = sources
        self.written = written
        self.refused = file.refused.union(environment.refused).union(flags.refused).subtracting(sources.keys)
        self.isComplete = file.isReadable
        self.reader = ConfigReader(providers: [
            EnvironmentVariablesProvider(environmentVariables: flags.values, secretsSpecifier: .all),
            EnvironmentVariablesProvider(environmentVariables: environment.values, secretsSpecifier: .all),
            InMemoryProvider(name: file.name, values: values),
        ])
    }

    func isGiven(_ name: String) -> Bool {
        sources[name] != nil
    }

    /// Whether a value was given that an earlier check refused.
    func isRefused(_ name: String) -> Bool {
        refused.contains(name)
    }

    /// Whether all of these have a usable value, or may be absent.
    func areGood(_ names: String...) -> Bool { failed.isDisjoint(with: names) }

    /// Reports a missing key, unless it has a refused value or the file could not be read.
    func failMissing(_ name: String, _ remedy: String) {
        failed.insert(name)
        guard isComplete, !refused.contains(name) else { return }
        fail(name, "is required.", remedy)
    }

    /// The path as earlier versions read it, from the working directory; nil where that is the same, or nothing.
    func fromWorkingDirectory(_ name: String) -> String? {
        guard let key = ConfigurationTable.byName[name], key.isPath, sources[name]?.holdsText != true else {
            return nil
        }
        if let written = written[name] { return written }
        guard !isGiven(name), case .text(let value)? = key.presence.value else { return nil }
        return value
    }

    /// The variable, flag or file that sets the key.
    func source(of name: String) -> String? {
        sources[name]?.name
    }

    /// Reports an error about a key, which then has no usable value.
    func fail(_ name: String, _ fault: String, _ remedy: String) {
        failed.insert(name)
        report(name, fault, remedy)
    }

    /// Reports an error about a key, with the source of its value.
    func report(_ name: String, _ fault: String, _ remedy: String) {
        problems.add(ConfigurationProblem(key: name, source: sources[name]?.name, fault: fault, remedy: remedy))
    }

    /// Reports a warning about a key, whose value is used.
    func warn(_ name: String, _ fault: String, _ remedy: String) {
        problems.add(
            ConfigurationProblem(.warning, key: name, source: sources[name]?.name, fault: fault, remedy: remedy))
    }

    /// A text, its default, or nil: a missing required key, or an empty text, is a problem.
    func text(_ name: String) -> String? {
        guard let key = key(name) else { return nil }
        guard isGiven(name) else {
            guard case .text(let value)? = key.presence.value else { return nil }
            return key.isPath ? folder.resolving(value) : value
        }
        guard
            let value = read(key, { try reader.requiredString(forKey: $0, isSecret: true) })
                .map(PastedText.trimmed)
        else { return nil }
        if value.isEmpty || value.allSatisfy(\.isWhitespace) {
            fail(name, "is empty.", key.example.map { "Write \($0)." } ?? "Write a value, or remove the key.")
            return nil
        }
        // Only quoted when the key is not a secret.
        if value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }), !key.isSecret,
            !key.holdsLines
        {
            fail(name, "holds a control character.", "Write \(key.type.expectation) on one line.")
            return nil
        }
        return value
    }

    func integer(_ name: String) -> Int? {
        guard let key = key(name), case .integer(let range, _) = key.type else { return nil }
        guard isGiven(name) else {
            if case .integer(let value)? = key.presence.value { return value }
            return nil
        }
        guard let value = read(key, { try reader.requiredInt(forKey: $0, isSecret: true) }) else { return nil }
        guard range.contains(value) else {
            fail(name, "is \(value).", "Write \(key.type.expectation).")
            return nil
        }
        return value
    }

    func boolean(_ name: String) -> Bool? {
        guard let key = key(name) else { return nil }
        guard isGiven(name) else {
            if case .boolean(let value)? = key.presence.value { return value }
            return nil
        }
        return read(key, { try reader.requiredBool(forKey: $0, isSecret: true) })
    }

    func list(_ name: String) -> [String]? {
        guard let key = key(name) else { return nil }
        guard let source = sources[name] else {
            if case .list(let value)? = key.presence.value { return value }
            return nil
        }
        guard
            let value = read(key, { try reader.requiredStringArray(forKey: $0, isSecret: true) })
                .map({ $0.map(PastedText.trimmed) })
        else { return nil }
        if source.holdsText, value == [""] { return [] }
        if value.contains(where: \.isEmpty) {
            fail(
                name, "has an empty entry.", "Remove the entry; [] (or nothing, in the environment) is the empty list.")
            return nil
        }
        if !key.mayRepeat, Set(value).count != value.count {
            fail(name, "names an entry twice.", "Name each once.")
            return nil
        }
        return value
    }

    /// All given and readable values, with their types.
    var given: [String: FileValue] {
        var found: [String: FileValue] = [:]
        for name in sources.keys {
            switch ConfigurationTable.byName[name]?.type {
            case .text, .choice: found[name] = text(name).map { .text($0) }
            case .length: found[name] = text(name).map { text in Int(text).map { .integer($0) } ?? .text(text) }
            case .integer: found[name] = integer(name).map { .integer($0) }
            case .boolean: found[name] = boolean(name).map { .boolean($0) }
            case .list: found[name] = list(name).map { .list($0) }
            case nil: break
            }
        }
        return found
    }

    /// The table's entry; a missing required key is a problem.
    private func key(_ name: String) -> ConfigurationKey? {
        asked.insert(name)
        guard let key = ConfigurationTable.byName[name] else {
            problems.add(
                ConfigurationProblem(key: name, fault: "is missing in the table of keys.", remedy: "Report this."))
            return nil
        }
        if key.presence == .required, !isGiven(name) {
            failMissing(name, "\(key.advice) \(key.plainMeaning.firstSentence)")
        }
        return key
    }

    private func read<Value>(_ key: ConfigurationKey, _ access: (ConfigKey) throws -> Value) -> Value? {
        do {
            return try access(ConfigKey(key.components))
        } catch {
            // Neither the value nor the library's own text, which may quote it.
            fail(key.name, "cannot be read as \(key.type.expectation).", "Write \(key.type.expectation).")
            return nil
        }
    }
}

extension ConfigContent {
    init(_ value: FileValue) {
        switch value {
        case .text(let text): self = .string(text)
        case .integer(let integer): self = .int(integer)
        case .boolean(let flag): self = .bool(flag)
        case .list(let texts): self = .stringArray(texts)
        }
    }
}

extension String {
    /// Up to the first full stop.
    fileprivate var firstSentence: Substring {
        guard let end = ranges(of: ". ").first else { return self[...] }
        return self[...end.lowerBound]
    }
}
