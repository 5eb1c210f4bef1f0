import Accounts
import Coding
import Synchronization

/// Who may open what, in the operator's order: the first rule whose host, path and methods match decides; without one,
/// any signed-in person is admitted. `forwardAuth.rulesFile` contains them, `AccessRulesFile` parses them.
///
/// Both implementations of `/auth/verify` ask here, with canonical bytes: a host in lower case without port and empty
/// labels, a decoded path without empty or dot segments (`RulePath`).
package struct AccessRules: Hashable, Sendable {
    package enum Access: Hashable, Sendable {
        /// `public`: everyone, including people who are pending or disabled, and while the database is unavailable.
        case everyone
        /// `optional`: everyone except people who are pending or disabled.
        case optional
        case signedIn
        case listed(Listed)
    }

    /// Listed people: any one match is enough.
    package struct Listed: Hashable, Sendable {
        package var groups: [String] = []
        /// Bramley's ids.
        package var users: [String] = []
        /// Verified addresses, in lower case.
        package var addresses: [String] = []
        /// The domain of a verified address of the person's own, in lower case.
        package var domains: [String] = []

        /// Only an address Apple verified counts, and its domain unless a relay's, which all who hide theirs share.
        func admits(_ person: User) -> Bool {
            if users.contains(where: { $0.isExactly(person.id.rawValue) }) { return true }
            if groups.contains(where: { group in person.memberships.contains { $0.isExactly(group) } }) { return true }
            let address = (person.email?.forApplications ?? "").lowercased()
            guard !address.isEmpty else { return false }
            if addresses.contains(where: { $0.isExactly(address) }) { return true }
            guard person.email?.isPrivate == false, let at = address.lastIndex(of: "@") else { return false }
            let domain = String(address[address.index(after: at)...])
            return domains.contains { $0.isExactly(domain) }
        }
    }

    package enum HostPattern: Hashable, Sendable {
        /// `*`
        case any
        case exact([UInt8])
        /// `*.example.com`, as `.example.com`: at least one label before it.
        case below([UInt8])

        func matches(_ host: Span<UInt8>) -> Bool {
            switch self {
            case .any: true
            case .exact(let name): host.count == name.count && AccessRules.holds(host, name, at: 0)
            case .below(let suffix):
                host.count > suffix.count && AccessRules.holds(host, suffix, at: host.count - suffix.count)
            }
        }

        /// Whether it matches everything that the other matches.
        func covers(_ other: HostPattern) -> Bool {
            switch other {
            case .any: self == .any
            case .exact(let name): matches(name.span)
            case .below(let suffix):
                if case .below(let own) = self { suffix.suffix(own.count).elementsEqual(own) } else { self == .any }
            }
        }
    }

    package enum PathPattern: Hashable, Sendable {
        case exact([UInt8])
        /// `/a/*`, as `/a`: the path and everything below it. `/*` is empty: every path.
        case below([UInt8])

        func matches(_ path: Span<UInt8>) -> Bool {
            switch self {
            case .exact(let text): path.count == text.count && AccessRules.holds(path, text, at: 0)
            case .below(let text):
                path.count >= text.count && AccessRules.holds(path, text, at: 0)
                    && (path.count == text.count || path[text.count] == UInt8(ascii: "/"))
            }
        }

        func covers(_ other: PathPattern) -> Bool {
            switch other {
            case .exact(let text): matches(text.span)
            case .below(let text): if case .below = self { matches(text.span) } else { false }
            }
        }
    }

    package struct Rule: Hashable, Sendable {
        package var host: HostPattern
        package var path: PathPattern
        /// Empty means every method. GET includes HEAD.
        package var methods: [[UInt8]]
        package var access: Access

        func covers(_ other: Rule) -> Bool {
            host.covers(other.host) && path.covers(other.path)
                && (methods.isEmpty || !other.methods.isEmpty && other.methods.allSatisfy(methods.contains))
        }
    }

    enum Verdict: Hashable, Sendable {
        case rule(Int)
        case none
        /// A rule that matches host and path depends on the method, which was not given.
        case methodUnknown
        /// The path cannot be read, and the rules tell paths apart.
        case pathUnknown
    }

    package let rules: [Rule]

    package init(_ rules: [Rule]) { self.rules = rules }

    /// Allocates nothing. `method` is empty when the proxy did not send it.
    func verdict(host: Span<UInt8>, path: Span<UInt8>, method: Span<UInt8>) -> Verdict {
        for index in rules.indices {
            guard rules[index].host.matches(host), rules[index].path.matches(path) else { continue }
            guard !rules[index].methods.isEmpty else { return .rule(index) }
            if method.isEmpty { return .methodUnknown }
            if includes(method, index) { return .rule(index) }
        }
        return .none
    }

    /// Whether requests for different paths, or with different methods, may get different answers.
    func distinguishesRequests(onHost host: Span<UInt8>) -> Bool {
        let nothing: [UInt8] = []
        return switch verdict(host: host, method: nothing.span) {
        case .rule, .none: false
        case .methodUnknown, .pathUnknown: true
        }
    }

    /// The same for a path that cannot be read: it has a verdict where all paths have the same.
    func verdict(host: Span<UInt8>, method: Span<UInt8>) -> Verdict {
        var found: Access?
        for index in rules.indices where rules[index].host.matches(host) {
            if !rules[index].methods.isEmpty {
                if method.isEmpty { return .methodUnknown }
                guard includes(method, index) else { continue }
            }
            let access = rules[index].access
            guard found == nil || found == access else { return .pathUnknown }
            if rules[index].path == .below([]) { return .rule(index) }
            found = access
        }
        return found == nil || found == .signedIn ? .none : .pathUnknown
    }

    private func includes(_ method: Span<UInt8>, _ index: Int) -> Bool {
        for name in rules[index].methods where method.count == name.count && Self.holds(method, name, at: 0) {
            return true
        }
        return false
    }

    func access(_ verdict: Verdict) -> Access? {
        switch verdict {
        case .rule(let index): rules[index].access
        case .none: .signedIn
        case .methodUnknown, .pathUnknown: nil
        }
    }

    /// Indices of unreachable rules, each with that of the earlier rule that matches everything it matches.
    package var unreachable: [(rule: Int, behind: Int)] {
        rules.indices.compactMap { later in
            rules[..<later].firstIndex { $0.covers(rules[later]) }.map { (later, $0) }
        }
    }

    /// Invalid labels could be read as another host.
    static func isCanonicalHost(_ host: Span<UInt8>) -> Bool {
        var isLabelStart = true
        for index in host.indices {
            let isDot = host[index] == UInt8(ascii: ".")
            if isDot, isLabelStart { return false }
            isLabelStart = isDot
        }
        return !isLabelStart
    }

    private static func holds(_ bytes: Span<UInt8>, _ text: [UInt8], at start: Int) -> Bool {
        for offset in text.indices where bytes[start &+ offset] != text[offset] { return false }
        return true
    }
}

/// The path of a request, in the form that rules compare.
enum RulePath {
    /// The decoded path of an origin-form target; nil when an application could read another path in it than we do: an
    /// empty segment, path parameters (`;`, which some cut off), or an escape left after decoding (which some decode
    /// again).
    /// - Parameter target: accepted by `OriginalRequest`: no dot segments, no encoded slash, backslash or control
    ///   character.
    static func decode(_ target: String) -> [UInt8]? {
        guard let path = PercentEncoding.decode(String(target.prefix { $0 != "?" })) else { return nil }
        for index in path.indices {
            let next = index + 1 < path.count ? path[index + 1] : 0
            switch path[index] {
            case UInt8(ascii: "/") where next == UInt8(ascii: "/"), UInt8(ascii: ";"): return nil
            case UInt8(ascii: "%"):
                let afterNext = index + 2 < path.count ? path[index + 2] : 0
                if Hexadecimal.value(of: next) != nil, Hexadecimal.value(of: afterNext) != nil { return nil }
            default: continue
            }
        }
        return path
    }

    static func host(of authority: String) -> [UInt8] {
        let bytes = Array(authority.utf8)
        guard bytes.first != UInt8(ascii: "[") else {
            return Array(bytes[...(bytes.firstIndex(of: UInt8(ascii: "]")) ?? bytes.endIndex - 1)])
        }
        return Array(bytes.prefix { $0 != UInt8(ascii: ":") })
    }
}

/// The access rules in force: those of the start, until SIGHUP loads others. Shared by all loops.
package final class CurrentAccessRules: Sendable {
    private let rules: Mutex<AccessRules?>
    private let counter = Atomic<UInt64>(0)

    /// - Parameter rules: nil admits everybody who is signed in.
    package init(_ rules: AccessRules?) { self.rules = Mutex(rules) }

    /// Increases with every change: code that keeps a copy compares it before each use.
    var generation: UInt64 { counter.load(ordering: .acquiring) }

    package var current: AccessRules? { rules.withLock { $0 } }

    func read() -> (AccessRules?, generation: UInt64) {
        rules.withLock { ($0, counter.load(ordering: .relaxed)) }
    }

    /// Replaces the rules from the next request on, and returns whether they differ from the previous ones.
    package func replace(with others: AccessRules?) -> Bool {
        rules.withLock { rules in
            guard rules != others else { return false }
            rules = others
            counter.add(1, ordering: .releasing)
            return true
        }
    }
}
