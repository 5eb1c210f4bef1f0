import Accounts
import Web

/// Turns the sources' values into a `Configuration`: first each key by its entry in the table, then, in steps, whatever
/// depends on several keys or on files. Problems are collected, so that one load finds all.
final class ConfigurationBuilder {
    let input: ConfigurationInput
    var problems: [ConfigurationProblem]
    private let given: GivenValues
    /// The folder against which relative paths in the file, and in defaults, are resolved.
    private let folder: ConfigurationFolder
    /// Every key that was read, nil where it has no usable value: a key is read once, and reported once.
    private(set) var readings: [String: FileValue?] = [:]
    private(set) var failed: Set<String> = []

    init(_ given: GivenValues, _ input: ConfigurationInput) {
        self.given = given
        self.input = input
        problems = given.problems
        folder = ConfigurationFolder(of: given.file)
    }

    var failure: ConfigurationFailure { ConfigurationFailure(problems: problems.ordered) }

    var isComplete: Bool { given.isComplete }

    func isGiven(_ name: String) -> Bool { given.values[name] != nil }

    /// Whether a value was given, and refused where it was written: neither missing nor readable.
    func isRefused(_ name: String) -> Bool { given.refused.contains(name) && !isGiven(name) }

    /// Whether all of these have a usable value, or may be absent.
    func areGood(_ names: String...) -> Bool { failed.isDisjoint(with: names) }

    func source(of name: String) -> String? { given.values[name]?.source }

    var used: [String: FileValue] { readings.compactMapValues { $0 }.filter { isGiven($0.key) } }

    /// A key with its value, and where that comes from. No secret, nor the query of an endpoint, which may hold one.
    func setting(_ key: ConfigurationKey) -> OperatorSetting? {
        let given = used[key.name]
        guard given != nil || !key.isSecret else { return nil }
        guard let value = given ?? key.presence.value else {
            guard case .derived(let words) = key.presence else { return nil }
            return OperatorSetting(key: key.name, value: words, source: nil)
        }
        var text = value.plain
        if key.name.hasPrefix("webhooks.") {
            text = text.split(separator: " ").map { WebhookEndpoint.name(of: String($0)) }.joined(separator: " ")
        }
        return OperatorSetting(
            key: key.name, value: key.isSecret ? nil : text, source: given == nil ? nil : source(of: key.name))
    }

    /// The path as earlier versions read it, from the working directory; nil where that is the same, or nothing.
    func fromWorkingDirectory(_ name: String) -> String? {
        guard let given = given.values[name] else { return ConfigurationTable.byName[name]?.presence.value?.text }
        return given.isInFile ? given.value.text : nil
    }

    /// Reports a missing key, unless it has a refused value or the file could not be read.
    func failMissing(_ name: String, _ remedy: String) {
        failed.insert(name)
        guard isComplete, !isRefused(name) else { return }
        fail(name, "is required.", remedy)
    }

    /// Reports an error about a key, which then has no usable value.
    func fail(_ name: String, _ fault: String, _ remedy: String) {
        failed.insert(name)
        report(name, fault, remedy)
    }

    func fail(_ name: String, _ flaw: InputFlaw) { fail(name, flaw.fault, flaw.remedy) }

    /// What `read` makes of the input; nil after its flaw, which is then reported.
    func reading<Input, Value>(_ name: String, _ input: Input, _ read: (Input) throws(InputFlaw) -> Value?) -> Value? {
        do throws(InputFlaw) {
            return try read(input)
        } catch {
            fail(name, error)
            return nil
        }
    }

    /// Reports an error about a key, with the source of its value, by which other keys are still judged.
    func report(_ name: String, _ fault: String, _ remedy: String) {
        problems.append(ConfigurationProblem(key: name, source: source(of: name), fault: fault, remedy: remedy))
    }

    func warn(_ name: String, _ fault: String, _ remedy: String) {
        problems.append(
            ConfigurationProblem(severity: .warning, key: name, source: source(of: name), fault: fault, remedy: remedy))
    }

    func text(_ name: String) -> String? { value(name)?.text }
    func list(_ name: String) -> [String]? { value(name)?.list }

    /// The value, or its default, of the key's type. Nil without either, and after a problem.
    func value(_ name: String) -> FileValue? {
        if let known = readings[name] { return known }
        let value = ConfigurationTable.byName[name].flatMap(read)
        readings.updateValue(value, forKey: name)
        return value
    }

    private func read(_ key: ConfigurationKey) -> FileValue? {
        guard let given = given.values[key.name] else {
            if key.presence == .required { failMissing(key.name, "\(key.advice) \(key.plainMeaning.firstSentence)") }
            return key.presence.value.map { key.isPath ? $0.mapTexts(folder.resolving) : $0 }
        }
        guard let value = given.value.read(as: key.type) else {
            // Without the value, which may be a secret.
            fail(key.name, "cannot be read as \(key.type.expectation).", "Write \(key.type.expectation).")
            return nil
        }
        if let flaw = Self.flaw(of: value, key) {
            fail(key.name, flaw)
            return nil
        }
        return given.isInFile && key.isPath ? value.mapTexts(folder.resolving) : value
    }

    private static func flaw(of value: FileValue, _ key: ConfigurationKey) -> InputFlaw? {
        let expected = "Write \(key.type.expectation)"
        switch (value, key.type) {
        case (.text(""), _):
            return InputFlaw("is empty.", key.example.map { "Write \($0)." } ?? "Write a value, or remove the key.")
        // Only quoted when the key is not a secret.
        case (.text(let text), _) where !key.isSecret && !key.holdsLines && text.holdsControls:
            return InputFlaw("contains a control character.", "\(expected) on one line.")
        case (.text(let word), .choice(let words)) where !words.contains(word):
            return InputFlaw("is \(word.quoted).", "Write one of \(words.map { "\"\($0)\"" }.joined(separator: ", ")).")
        case (.text(let text), .length) where text != "100%":
            return InputFlaw("is \(text.quoted).", "\(expected) without a unit.")
        case (.integer(let number), .length(let range)) where !range.contains(number):
            return InputFlaw("is \("\(number)".quoted).", "\(expected) without a unit.")
        case (.integer(let number), .integer(let range, _)) where !range.contains(number):
            return InputFlaw("is \(number).", "\(expected).")
        case (.list(let texts), _) where texts.contains(""):
            return InputFlaw(
                "has an empty entry.", "Remove the entry; [] (or nothing, in the environment) is the empty list."
            )
        case (.list(let texts), _) where !key.mayRepeat && Set(texts).count != texts.count:
            return InputFlaw("has an entry twice.", "List each once.")
        default: return nil
        }
    }
}

extension String {
    fileprivate var holdsControls: Bool { unicodeScalars.contains { $0.properties.generalCategory == .control } }

    fileprivate var firstSentence: Substring {
        guard let end = ranges(of: ". ").first else { return self[...] }
        return self[...end.lowerBound]
    }
}
