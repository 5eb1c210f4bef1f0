/// What a message of the server's log means, and what to do. A test compares the logged literals with `groups`.
struct LogMessage: Sendable {
    let messages: [String]
    /// Markdown with the links of docs/reference, as is `remedy`; empty if the message says it.
    let meaning: String
    let remedy: String

    init(_ messages: String..., means meaning: String = "", do remedy: String = "") {
        self.messages = messages
        self.meaning = meaning
        self.remedy = remedy
    }
}
