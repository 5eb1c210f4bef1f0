import Accounts
import Coding

@testable import AppleID

extension FuzzTarget {
    /// Forms, and Apple's callback among them: within the limits, and written again they are read the same.
    static let form = FuzzTarget(name: "form", maximumLength: 4096) { input throws(Finding) in
        let (bytes, fieldCount) = (3_000, 8)
        try checkCallback(input)
        try checkEscapes(input)
        let fields: [FormField]
        do throws(FormError) {
            fields = try FormDecoder.parse(input, maximumBytes: bytes, maximumFields: fieldCount)
        } catch {
            let count = input.split(separator: UInt8(ascii: "&")).count
            try hold(error == .tooLarge ? input.count > bytes : count > fieldCount, "\(error)")
            return nil
        }
        try hold(fields.count == input.split(separator: UInt8(ascii: "&")).count, "\(fields.count) fields")
        let again = FormEncoder.encode(fields.map { ($0.name, $0.value) })
        try hold(
            (try? FormDecoder.parse(again, maximumBytes: 16 * bytes, maximumFields: fieldCount)) == fields,
            "written again as \(shown(again))")
        return fields.isEmpty ? nil : input
    }

    private static func checkCallback(_ input: [UInt8]) throws(Finding) {
        guard let form = try? CallbackFormParser.parse(input) else { return }
        try hold(form.state.map { !$0.isEmpty && $0.utf8.count <= 8192 } ?? true, "a state of the wrong size")
        for part in [form.name?.given, form.name?.family].compactMap({ $0 }) { try checkName(part) }
    }

    /// RFC 3986 §2.1, both ways.
    private static func checkEscapes(_ input: [UInt8]) throws(Finding) {
        let encoded = PercentEncoding.encodeComponent(input)
        try hold(PercentEncoding.decode(encoded) == input, "escaped as \(encoded)")
        guard let decoded = PercentEncoding.decode(input) else { return }
        try hold(decoded.count <= input.count, "longer without its escapes")
    }

    /// A name that may be shown: nothing left to remove, and bounded.
    static func checkName(_ name: String) throws(Finding) {
        try hold(DisplayName.sanitize(name) == name, "made safe twice, \(shown(name.utf8)) changes")
        try hold(name.count <= DisplayName.maximumCharacters, "a name of \(name.count) characters")
        let isPlain = name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        try hold(isPlain, "a control character in \(shown(name.utf8))")
    }
}
