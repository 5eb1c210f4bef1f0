/// A value that must not be seen: prints `<redacted>` however it is printed.
package protocol Redacted: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A text that must not be seen, except through `reveal()`.
package struct Secret: Redacted {
    private let value: String

    package init(_ value: String) { self.value = value }

    /// The text itself. Review every call.
    package func reveal() -> String { value }

    package var isEmpty: Bool { value.isEmpty }
}
