/// A text that must not be seen: prints `<redacted>` however it is printed, and is taken out by name.
package struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let value: String

    package init(_ value: String) {
        self.value = value
    }

    /// The text itself. Every call is a place to look at in review.
    package func reveal() -> String { value }

    package var isEmpty: Bool { value.isEmpty }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
