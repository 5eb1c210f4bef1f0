internal import Logging

/// A message of the server's log: what it means, and what to do.
///
/// Whoever logs it writes it as a literal; a test compares those with `LogMessage.groups`.
struct LogMessage: Sendable {
    /// Several if one text explains them.
    let messages: [String]
    /// Markdown with the links of docs/reference, as is `remedy`; empty if the message says it.
    let meaning: String
    /// Empty if there is nothing to do.
    let remedy: String

    init(_ messages: String..., means meaning: String = "", do remedy: String = "") {
        self.messages = messages
        self.meaning = meaning
        self.remedy = remedy
    }
}
