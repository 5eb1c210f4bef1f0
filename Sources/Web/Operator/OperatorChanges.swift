import Accounts
import Coding
import HTTP
import HTTPTypes

/// `/operator/change`: every change, confirmed on a page that says what happens.
///
/// A change needs a page of ours, a sign-in within ten minutes and this page's button. It is recorded under the
/// operator's user id, in the same transaction where there is one.
extension OperatorPages {
    /// What a change is about, for its page.
    struct Target: Sendable {
        var name: String
        /// The one that loses access.
        var application = ""
        var count = 1
        var fields: [OperatorForm.Field] = []
    }

    func changePage(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let action = try Self.action(try parameter("action", visit))
        let back = try parameter("back", visit).flatMap(OperatorAction.back)
        let target = try self.target(visit) ?? ""
        // No row was ticked.
        if target.isEmpty, let back, action.takesSeveral { return responses.redirect(to: visit.link(back)) }
        return try await ask(visit, action, target, back: back, filled: nil)
    }

    private static func action(_ name: String?) throws(Failure) -> OperatorAction {
        guard let action = name.flatMap({ OperatorAction(rawValue: $0) }) else {
            throw .badRequest("action is unknown")
        }
        return action
    }

    func postChange(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let form = try form(visit, ["action", "target", "back"] + Self.fields)
        let action = try Self.action(form["action"])
        let target = form["target"] ?? ""
        let back = form["back"].flatMap(OperatorAction.back)
        guard visit.isFresh else { return try await ask(visit, action, target, back: back, filled: form) }
        switch try await perform(action, target, form, visit) {
        case .done(let path, let refused):
            let next = action.leadsBack ? back ?? path : path
            let query = [("done", action.rawValue), ("refused", refused > 0 ? String(refused) : nil)]
            return responses.redirect(to: visit.link(next, query))
        case .shown(let section):
            let page = OperatorPage(tab: action.tab, title: visit.texts["actions.\(action)"], sections: [section])
            return self.page(page, visit)
        case .refused(let problem, let detail):
            let text = [visit.texts["problems.\(problem)"], detail].compactMap(\.self).joined(separator: " ")
            return try await ask(visit, action, target, back: back, filled: form, problem: text)
        }
    }

    /// The confirmation page, with what was entered before; after an old sign-in, a page that asks for a new one first.
    private func ask(
        _ visit: OperatorVisit, _ action: OperatorAction, _ target: String, back: String?, filled: [String: String]?,
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
        let what = known.count > 1 ? "\(action)Several" : "\(action)"
        let values = ["name": known.name, "application": known.application, "count": String(known.count)]
        var section = OperatorSection(heading: title, note: texts.text("what.\(what)", values))
        let cancel = visit.link(named: "cancel", to: back ?? action.tab.path)
        let origin = back.map { [("back", $0)] } ?? []
        if visit.isFresh {
            section.form = OperatorForm(
                link: visit.link(path), hidden: [("action", action.rawValue), ("target", target)] + origin,
                fields: known.fields, button: action.isEdit ? texts["save"] : title, isDanger: action.isDanger)
            section.links = [cancel]
        } else {
            let here = visit.link(path, [("action", action.rawValue), ("target", target)] + origin)
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
            let ids = OperatorAction.targets(target).compactMap { UserID(parsing: $0) }
            let known = try await database.users(Set(ids))
            let users = ids.compactMap { known[$0] }
            guard let user = users.first, users.count == 1 || action.takesSeveral else { return nil }
            guard action == .groups else {
                let names = users.map { PersonText.accountName(of: $0) ?? $0.id.rawValue }
                return Target(name: names.joined(separator: ", "), count: names.count)
            }
            let groups = OperatorForm.Field(
                kind: .line, name: "groups", label: visit.texts["columns.groups"],
                value: user.groups.joined(separator: ", "), hint: visit.texts["groupsHint"],
                // Only Apple says who is in an organization.
                suggestions: try await groupSuggestions().filter { !$0.utf8.starts(with: UserLimits.organization.utf8) }
            )
            return Target(name: PersonText.accountName(of: user) ?? user.id.rawValue, fields: [groups])
        case .endSession:
            let names = try await sessions(in: target, visit).map { Self.name(of: $0, visit.texts) }
            return names.isEmpty ? nil : Target(name: names.joined(separator: ", "), count: names.count)
        case .endAccess:
            guard let (id, client) = Self.access(target), let user = try await database.user(id) else { return nil }
            let name = try await database.openIDClient(client)?.name ?? client.rawValue
            return Target(name: PersonText.accountName(of: user) ?? id.rawValue, application: name)
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
        case .approve:
            try await each(target) { id throws(Failure) in
                try await change(id, UserPatch(state: .active), from: .pending, visit)
            }
        case .enable: try await change(target, UserPatch(state: .active), from: .disabled, visit)
        case .disable: try await change(target, UserPatch(state: .disabled), from: .active, visit)
        case .deleteUser: try await delete(target, visit)
        case .groups: try await changeGroups(target, form["groups"] ?? "", visit)
        case .endSessions: try await endSessions(target, visit)
        case .endSession: try await each(target) { id throws(Failure) in try await endSession(id, visit) }
        case .endAccess: try await endAccess(target, visit)
        case .replay, .retryEvent, .retryEndpoint, .retryAll, .testEndpoint:
            try await performQueue(action, target, visit)
        case .createKey, .revokeKey: try await performKey(action, target, form, visit)
        case .addClient, .editClient, .rotateSecret, .deleteClient:
            try await performClient(action, target, form, visit)
        }
    }

    /// Several are changed one by one: if one is refused, the others still happen.
    private func each(
        _ target: String, _ change: (String) async throws(Failure) -> OperatorOutcome
    ) async throws(Failure) -> OperatorOutcome {
        var (done, refused, count) = (String?.none, OperatorOutcome.refused(problem: "gone"), 0)
        for id in OperatorAction.targets(target) {
            let outcome = try await change(id)
            if case .done(let path, _) = outcome { done = path } else { (refused, count) = (outcome, count + 1) }
        }
        return done.map { .done(path: $0, refused: count) } ?? refused
    }

    /// The people that a page about this target shows.
    func people(in target: String, _ visit: OperatorVisit) async throws(Failure) -> Set<UserID> {
        let named = OperatorAction.targets(target).compactMap { UserID(parsing: String($0.prefix { $0 != "/" })) }
        return Set(named + (try await sessions(in: target, visit).map(\.session.user)))
    }

    /// The sessions of a target that have not ended.
    private func sessions(
        in target: String, _ visit: OperatorVisit
    ) async throws(Failure) -> [(session: Session, user: User?)] {
        let ids = OperatorAction.targets(target).compactMap { SessionID(parsing: $0) }
        guard !ids.isEmpty else { return [] }
        return try await database.sessionsOfPeople(only: ids, after: nil, limit: ids.count, at: visit.now).items
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
        // The last two cannot happen here: operators may change all groups, and this page changes no external id.
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
        // The operator's current session stays: otherwise no page could say that it is done.
        let kept = id == visit.user.id ? visit.session.id : nil
        _ = try await database.endSessions(of: id, except: kept, cause: .revokedByOperator, at: visit.now)
        return .done(path: "/operator/users/\(id.rawValue)")
    }

    /// A person and an application, as in `OperatorAction.endAccess`.
    static func target(_ user: UserID, _ client: String) -> String { "\(user)/\(client)" }

    private static func access(_ target: String) -> (UserID, OpenIDClientID)? {
        let parts = target.split(separator: "/").map(String.init)
        guard parts.count == 2, let user = UserID(parsing: parts[0]), let client = OpenIDClientID(parsing: parts[1])
        else { return nil }
        return (user, client)
    }

    private func endAccess(_ target: String, _ visit: OperatorVisit) async throws(Failure) -> OperatorOutcome {
        guard let (user, client) = Self.access(target),
            try await database.endAccess(of: client, to: user, at: visit.now) > 0
        else { return .refused(problem: "gone") }
        return .done(path: "/operator/users/\(user.rawValue)")
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
    case endAccess = "end-access"
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
        case .approve, .enable, .disable, .groups, .endSessions, .endAccess, .deleteUser: .users
        case .endSession: .sessions
        case .replay: .notifications
        case .retryEvent, .retryEndpoint, .retryAll, .testEndpoint: .webhooks
        case .createKey, .revokeKey: .apiKeys
        case .addClient, .editClient, .rotateSecret, .deleteClient: .clients
        }
    }

    /// Whether the same change can be made of several at once.
    var takesSeveral: Bool { self == .approve || self == .endSession }

    /// Whether it returns to the page that it began on. Others lead to what they made, or away from what is gone.
    var leadsBack: Bool {
        switch self {
        case .deleteUser, .deleteClient, .addClient, .createKey: false
        default: true
        }
    }

    /// Separates several targets; no id contains it.
    static let separator = "."

    /// Without duplicates.
    static func targets(_ text: String) -> [String] {
        var found = Set<String>()
        return text.split(separator: separator).map(String.init).filter { found.insert($0).inserted }
    }

    /// A page of ours, from a request; nil for anything else, such as a file, and for what is too long beside a page of
    /// targets.
    static func back(_ text: String) -> String? {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let query = parts.count > 1 ? parts[1].split(separator: "&") : []
        guard text.utf8.count <= 160, text.isVisibleASCII, let path = parts.first, isPage(path),
            query.allSatisfy({ !$0.hasPrefix("format=") && $0.prefixMatch(of: /[a-z]+=/) != nil })
        else { return nil }
        return text
    }

    /// Whether it is a list, or the page of a person or an application.
    private static func isPage(_ path: String) -> Bool {
        if OperatorPage.Tab.allCases.contains(where: { path.isExactly($0.path) }) { return true }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, path.hasPrefix("/operator/") else { return false }
        switch parts[2] {
        case "users": return UserID(parsing: parts[3]) != nil
        case "clients": return OpenIDClientID(parsing: parts[3]) != nil && !parts[3].contains("..")
        default: return false
        }
    }

    /// Whether its form is filled in with the present values.
    var isEdit: Bool { self == .groups || self == .editClient }

    /// Whether it removes something.
    var isDanger: Bool {
        switch self {
        case .disable, .endSessions, .endAccess, .deleteUser, .endSession, .revokeKey, .rotateSecret, .deleteClient:
            true
        default: false
        }
    }
}

enum OperatorOutcome: Sendable {
    /// Redirects to this path, which shows the result and, for several targets, how many were refused.
    case done(path: String, refused: Int = 0)
    /// Shown at once, and only once.
    case shown(OperatorSection)
    /// Not done. `problem` is a key below `operator.problems`; `detail` is for the person who filled in the form.
    case refused(problem: String, detail: String? = nil)
}
