import Accounts
import Coding
import HTTP
import HTTPTypes

/// `/operator/change`: every change, asked for on a page that says what happens, and made by its form.
///
/// A change needs a page of ours, a sign-in within ten minutes and this page's button. It is recorded under the
/// operator's user id, in the transaction that makes it where that is one.
extension OperatorPages {
    /// What a change is about, for its page.
    struct Target: Sendable {
        var name: String
        var fields: [OperatorForm.Field] = []
    }

    func changePage(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let action = try Self.action(try parameter("action", visit))
        return try await ask(visit, action, try parameter("target", visit) ?? "", filled: nil)
    }

    private static func action(_ name: String?) throws(Failure) -> OperatorAction {
        guard let action = name.flatMap({ OperatorAction(rawValue: $0) }) else {
            throw .badRequest("action is unknown")
        }
        return action
    }

    func postChange(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let form = try form(visit, ["action", "target"] + Self.fields)
        let action = try Self.action(form["action"])
        let target = form["target"] ?? ""
        guard visit.isFresh else { return try await ask(visit, action, target, filled: form) }
        switch try await perform(action, target, form, visit) {
        case .done(let path): return responses.redirect(to: visit.link(path, [("done", action.rawValue)]))
        case .shown(let section):
            let page = OperatorPage(tab: action.tab, title: visit.texts["actions.\(action)"], sections: [section])
            return self.page(page, visit)
        case .refused(let problem, let detail):
            let text = [visit.texts["problems.\(problem)"], detail].compactMap(\.self).joined(separator: " ")
            return try await ask(visit, action, target, filled: form, problem: text)
        }
    }

    /// The page that asks, with what was entered before; for an old sign-in, the one that asks for a new one first.
    private func ask(
        _ visit: OperatorVisit, _ action: OperatorAction, _ target: String, filled: [String: String]?,
        problem: String? = nil
    ) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        guard var known = try await self.target(of: action, target, visit) else { throw Failure(.notFound) }
        if let filled {
            for index in known.fields.indices {
                let value = filled[known.fields[index].name]
                (known.fields[index].value, known.fields[index].isTicked) = (value ?? "", value != nil)
            }
        }
        let (path, title) = ("/operator/change", texts["actions.\(action)"])
        var section = OperatorSection(heading: title, note: texts.text("what.\(action)", ["name": known.name]))
        let cancel = visit.link(named: "cancel", to: action.tab.path)
        if visit.isFresh {
            section.form = OperatorForm(
                link: visit.link(path), hidden: [("action", action.rawValue), ("target", target)],
                fields: known.fields, button: title, isDanger: action.isDanger)
            section.links = [cancel]
        } else {
            let here = visit.link(path, [("action", action.rawValue), ("target", target)])
            section.links = [visit.link(named: "signInAgain", to: "/login/apple", [("return_to", here)]), cancel]
        }
        var sections = [section]
        if let problem { sections.insert(OperatorSection(heading: problem, isWarning: true), at: 0) }
        if !visit.isFresh {
            let text = texts.text("tooOld", ["count": String(Session.recent / 60)])
            sections.insert(OperatorSection(heading: text, isWarning: true), at: 0)
        }
        let page = OperatorPage(tab: action.tab, title: title, sections: sections)
        return self.page(page, visit, status: problem == nil ? .ok : .conflict)
    }

    /// The names of every form's fields.
    private static let fields: [String] = ["groups"] + keyFields + clientFields

    /// Nil when there is no such thing, or no longer.
    private func target(
        of action: OperatorAction, _ target: String, _ visit: OperatorVisit
    ) async throws(Failure) -> Target? {
        switch action {
        case .approve, .enable, .disable, .groups, .endSessions, .deleteUser:
            guard let id = UserID(parsing: target), let user = try await database.user(id) else { return nil }
            let groups = OperatorForm.Field(
                kind: .line, name: "groups", label: visit.texts["columns.groups"],
                value: user.groups.joined(separator: ", "), hint: visit.texts["groupsHint"])
            return Target(
                name: PersonText.accountName(of: user) ?? id.rawValue, fields: action == .groups ? [groups] : [])
        case .endSession: return SessionID(parsing: target).map { Target(name: $0.rawValue) }
        case .replay, .retryEvent, .retryEndpoint, .retryAll, .testEndpoint:
            return try await queueTarget(of: action, target)
        case .createKey, .revokeKey: return try await keyTarget(of: action, target, visit)
        case .addClient, .editClient, .rotateSecret, .deleteClient:
            return try await clientTarget(of: action, target, visit)
        }
    }

    private func perform(
        _ action: OperatorAction, _ target: String, _ form: [String: String], _ visit: OperatorVisit
    ) async throws(Failure) -> OperatorOutcome {
        switch action {
        case .approve: try await change(target, UserPatch(state: .active), from: .pending, visit)
        case .enable: try await change(target, UserPatch(state: .active), from: .disabled, visit)
        case .disable: try await change(target, UserPatch(state: .disabled), from: .active, visit)
        case .deleteUser: try await delete(target, visit)
        case .groups: try await changeGroups(target, form["groups"] ?? "", visit)
        case .endSessions: try await endSessions(target, visit)
        case .endSession: try await endSession(target, visit)
        case .replay, .retryEvent, .retryEndpoint, .retryAll, .testEndpoint:
            try await performQueue(action, target, visit)
        case .createKey, .revokeKey: try await performKey(action, target, form, visit)
        case .addClient, .editClient, .rotateSecret, .deleteClient:
            try await performClient(action, target, form, visit)
        }
    }

    // MARK: People

    /// - Parameter state: in which the person must be; nil for any.
    private func change(
        _ target: String, _ patch: UserPatch, from state: User.State? = nil, _ visit: OperatorVisit
    ) async throws(Failure) -> OperatorOutcome {
        guard let id = UserID(parsing: target) else { return .refused(problem: "gone") }
        let result = try await database.patchUser(
            id, if: { state == nil || $0.state == state }, keepingOneOf: groups, at: visit.now
        ) { _ in patch }
        switch result {
        case .patched: return .done(path: "/operator/users/\(id.rawValue)")
        case .unknown: return .refused(problem: "gone")
        case .conditionFailed: return .refused(problem: "otherState")
        // An operator changes neither external ids nor what is protected from others.
        case .lastOperator, .groupProtected, .externalIDTaken: return .refused(problem: "lastOperator")
        }
    }

    private func delete(_ target: String, _ visit: OperatorVisit) async throws(Failure) -> OperatorOutcome {
        guard let id = UserID(parsing: target) else { return .refused(problem: "gone") }
        let result = try await database.deleteUser(id, keepingOneOf: groups, at: visit.now)
        switch result {
        case .deleted: return .done(path: "/operator/users")
        case .unknown, .conditionFailed: return .refused(problem: "gone")
        case .lastOperator: return .refused(problem: "lastOperator")
        }
    }

    private func changeGroups(
        _ target: String, _ text: String, _ visit: OperatorVisit
    ) async throws(Failure) -> OperatorOutcome {
        let groups = PlainLine.list(text)
        guard UserLimits.accepts(groups: groups) else { return .refused(problem: "groups") }
        guard let id = UserID(parsing: target), let user = try await database.user(id)
        else { return .refused(problem: "gone") }
        // A name from before this rule, which the field does not bring back: `users groups` removes it.
        if let odd = user.groups.first(where: { !UserLimits.accepts(group: $0) }) {
            return .refused(problem: "groups", detail: "\"\(odd)\"")
        }
        return try await change(target, UserPatch(groups: groups), visit)
    }

    private func endSessions(_ target: String, _ visit: OperatorVisit) async throws(Failure) -> OperatorOutcome {
        guard let id = UserID(parsing: target), try await database.user(id) != nil else {
            return .refused(problem: "gone")
        }
        // The operator's own present session stays: otherwise nothing would say that it is done.
        let kept = id == visit.user.id ? visit.session.id : nil
        _ = try await database.endSessions(of: id, except: kept, cause: .revokedByOperator, at: visit.now)
        return .done(path: "/operator/users/\(id.rawValue)")
    }

    private func endSession(_ target: String, _ visit: OperatorVisit) async throws(Failure) -> OperatorOutcome {
        guard let id = SessionID(parsing: target),
            try await database.endSession(id, cause: .revokedByOperator, at: visit.now)
        else { return .refused(problem: "gone") }
        return .done(path: "/operator/sessions")
    }
}

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

enum OperatorOutcome: Sendable {
    /// Leads to this path, which says so.
    case done(path: String)
    /// Shown at once, and only once.
    case shown(OperatorSection)
    /// Not done. `problem` is a key below `operator.problems`; `detail` is for the person who filled in the form.
    case refused(problem: String, detail: String? = nil)
}
