import Accounts
import Coding
import HTTP
import HTTPTypes
import Storage

/// The complete `GET /auth/verify`, which a reverse proxy asks before it serves a page. `VerifyFastPath` answers usual
/// requests from prepared bytes; the rest comes here. Never rate-limited.
extension WebRoutes {
    static let verifyPattern = "/auth/verify"

    func verify(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        try VerifyQuery.refuseNarrowing(Query(request))
        return try await answer(request, original(request), demands: [])
    }

    /// `GET /auth/forbidden`, always 403: why a person was refused, for proxies that drop content (nginx).
    func forbidden(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        try VerifyQuery.refuseNarrowing(Query(request))
        let original = try original(request)
        _ = try await answer(request, original, demands: [])
        let signedIn = await reader.signedInIfKnown(request.fields)
        throw .notAllowed(rule: nil, target: target(original), person: signedIn?.user)
    }

    /// For the request that is asked about, and further lists of people, each of which the person must be on.
    func answer(
        _ request: ServerRequest, _ original: OriginalRequest, demands: [AccessRules.Listed]
    ) async throws(Failure) -> ServerResponse {
        try await StorePatience.within(Self.longestDecision) { () async throws(Failure) -> ServerResponse in
            try await decide(request, original, demands: demands)
        }
    }

    /// Every page of a site waits for it: it takes at most two seconds, including the database's time.
    private static let longestDecision = Duration.milliseconds(1_250)

    private func decide(
        _ request: ServerRequest, _ original: OriginalRequest, demands: [AccessRules.Listed]
    ) async throws(Failure) -> ServerResponse {
        try VerifyQuery.checkFlags(Query(request))
        // Refused for everybody, so that the first request shows a misspelt name, not the first signed-in visitor.
        _ = try audience(in: Query(request))
        let rules = rules.current
        let (access, rule) = try access(original, rules)
        let signedIn: SignedIn?
        do {
            signedIn = try await reader.signedIn(reader.credential(in: request.fields))
        } catch {
            // What is public stays public while nobody can be identified.
            guard access == .everyone, demands.isEmpty else { throw error }
            return answer(.nobody)
        }
        switch signedIn?.user.state {
        case .active?:
            let found = try answer(signedIn, access, rule, demands, original)
            do {
                let kept = demands.isEmpty ? keeping(found, request, original, rules) : found
                return try await adding(to: kept, signedIn, request)
            } catch {
                // Also while no assertion can be made.
                guard access == .everyone, demands.isEmpty else { throw error }
                return answer(.nobody)
            }
        case nil:
            // With rules, only they decide; the proxy's own `optional` opens nothing they close.
            let isOptional = rules == nil && Query(request).isTrue("optional")
            let isOpen = access == .everyone || access == .optional || isOptional
            return isOpen && demands.isEmpty ? answer(.nobody) : signedOut(request, original)
        case _ where access == .everyone && demands.isEmpty: return answer(.nobody)
        case .pending?: throw Failure(.userPending)
        case .disabled?: throw Failure(.userDisabled)
        }
    }

    func original(_ request: ServerRequest) throws(Failure) -> OriginalRequest {
        do throws(OriginalRequest.Refusal) {
            return try OriginalRequest(
                fields: request.fields, style: configuration.forwardAuth,
                isFromTrustedProxy: request.isFromTrustedProxy)
        } catch {
            throw .originalRequest(error)
        }
    }

    /// Lets nginx keep the answer, where it asks to and every path and method of the host has the same. Not for a request
    /// without X-Forwarded-Host: it may be a visitor's own, and a cache may not tell visitors apart.
    private func keeping(
        _ answer: ServerResponse, _ request: ServerRequest, _ original: OriginalRequest, _ rules: AccessRules?
    ) -> ServerResponse {
        guard request.isFromTrustedProxy, Query(request).isTrue(VerifyQuery.cached), let authority = original.host,
            configuration.forwardAuth == .forwarded
        else { return answer }
        let host = RulePath.host(of: authority)
        guard rules?.distinguishesRequests(onHost: host.span) != true else { return answer }
        var answer = answer
        answer.fields[.accelExpires] = "1"
        return answer
    }

    /// Whom the rules admit, and the deciding rule. What cannot be judged is refused: it might slip past any rule.
    private func access(
        _ original: OriginalRequest, _ rules: AccessRules?
    ) throws(Failure) -> (AccessRules.Access, rule: Int?) {
        guard let rules else { return (.signedIn, nil) }
        let style = configuration.forwardAuth
        guard let authority = original.host else { throw .originalRequest(.incomplete(style.hostField)) }
        let host = RulePath.host(of: authority)
        guard AccessRules.isCanonicalHost(host.span) else { throw .originalRequest(.notCanonical(style.hostField)) }
        let method = Array((original.method?.rawValue ?? "").utf8)
        let verdict: AccessRules.Verdict
        if original.targetFault == nil, let path = original.target.flatMap(RulePath.decode) {
            verdict = rules.verdict(host: host.span, path: path.span, method: method.span)
        } else {
            verdict = rules.verdict(host: host.span, method: method.span)
        }
        switch verdict {
        case .rule(let index): return (rules.rules[index].access, index + 1)
        case .none: return (.signedIn, nil)
        case .methodUnknown: throw .originalRequest(.incomplete(style.methodField))
        case .pathUnknown: throw .originalRequest(original.targetFault ?? .notCanonical(style.targetField))
        }
    }

    private func answer(
        _ signedIn: SignedIn?, _ access: AccessRules.Access, _ rule: Int?, _ demands: [AccessRules.Listed],
        _ original: OriginalRequest
    ) throws(Failure) -> ServerResponse {
        guard let user = signedIn?.user else { return answer(.nobody) }
        var lists = demands
        if case .listed(let listed) = access { lists.append(listed) }
        guard lists.allSatisfy({ $0.admits(user) }) else {
            throw .notAllowed(rule: rule, target: target(original), person: user)
        }
        return answer(VerifiedUser(user))
    }

    private func answer(_ user: VerifiedUser, status: HTTPResponse.Status = .noContent) -> ServerResponse {
        var fields = HTTPFields()
        for (name, value) in user.fields { fields[name] = value }
        addEmptyAssertion(to: &fields)
        return responses.empty(status, fields: fields)
    }

    private func signedOut(_ request: ServerRequest, _ original: OriginalRequest) -> ServerResponse {
        var response = answer(.nobody, status: .unauthorized)
        response.fields[.location] = loginURL(original)
        response.fields[.wwwAuthenticate] = "Bearer"
        if Query(request).isTrue("redirect"), isNavigation(request, original) { response.status = .found }
        return response
    }

    /// The complete login URL with the encoded target, which nginx cannot encode; without one that is not allowed.
    private func loginURL(_ original: OriginalRequest) -> String {
        let login = configuration.publicURL.absolute + "/login"
        guard let target = target(original) else { return login }
        return login + "?return_to=" + PercentEncoding.encodeComponent(target.location)
    }

    /// The return target; nil when the proxy named none, or one that is not allowed.
    private func target(_ original: OriginalRequest) -> ReturnTarget? {
        guard let scheme = original.scheme, let host = original.host, let target = original.target else { return nil }
        return targets.validate("\(scheme)://\(host)\(target)")
    }

    /// A GET or HEAD that loads a page: a script could do nothing with a login page.
    private func isNavigation(_ request: ServerRequest, _ original: OriginalRequest) -> Bool {
        let method = original.method ?? request.method
        guard method == .get || method == .head else { return false }
        return Navigation.holds(request.fields)
    }
}
