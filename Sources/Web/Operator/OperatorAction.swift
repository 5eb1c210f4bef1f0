/// What an operator can change, by its name in addresses and forms.
enum OperatorAction: String, Sendable, CaseIterable {
    case approve, enable, disable, groups
    case endSessions = "end-sessions"
    case deleteUser = "delete-user"
    case endSession = "end-session"
    case replay
    case retryEvent = "retry-event"
    case retryEndpoint = "retry-endpoint"
    case retryAll = "retry-all"
    case testEndpoint = "test-endpoint"
    case createKey = "create-key"
    case revokeKey = "revoke-key"
    case addClient = "add-client"
    case editClient = "edit-client"
    case rotateSecret = "rotate-secret"
    case deleteClient = "delete-client"

    /// Whose page it belongs to, and where it leads when done.
    var tab: OperatorPage.Tab {
        switch self {
        case .approve, .enable, .disable, .groups, .endSessions, .deleteUser: .users
        case .endSession: .sessions
        case .replay: .notifications
        case .retryEvent, .retryEndpoint, .retryAll, .testEndpoint: .webhooks
        case .createKey, .revokeKey: .apiKeys
        case .addClient, .editClient, .rotateSecret, .deleteClient: .clients
        }
    }

    /// Whether it takes something away.
    var isDanger: Bool {
        switch self {
        case .disable, .endSessions, .deleteUser, .endSession, .revokeKey, .rotateSecret, .deleteClient: true
        default: false
        }
    }
}

/// The result of a change.
enum OperatorOutcome: Sendable {
    /// Leads to this path, which says so.
    case done(path: String)
    /// Shown at once, and only once.
    case shown(OperatorSection)
    /// Not done. `problem` is a key below `operator.problems`; `detail` is for the person who filled in the form.
    case refused(problem: String, detail: String? = nil)
}
