package import Logging
package import Storage

/// Why something was refused: made where it happens, and rendered once for each protocol.
package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    package private(set) var code: ReasonCode
    /// For the operator's log and the developer of an invalid request. Never contains a token, a code or an address.
    package var detail: String?
    /// The HTTP status of the answer: the code's, except for an unknown method.
    package var status: Int
    package var level: Logger.Level
    /// Seconds until another try may succeed, where that is known.
    package var retryAfter: Int?
    /// Apple may have redeemed the code: it was sent, and the answer did not arrive.
    package let mayHaveSpentCode: Bool
    /// The values of `WWW-Authenticate`, unless the code determines them.
    package var challenges: [String] = []
    /// For an OpenID Connect client, unless the code determines it.
    package var oauth: ProviderError?
    private var page: Page?

    /// Boxed, so that a failure without a page stays small.
    private indirect enum Page: Hashable { case of(FailedVisit) }

    package init(_ code: ReasonCode, _ detail: String? = nil, mayHaveSpentCode: Bool = false) {
        self.code = code
        self.detail = detail
        self.mayHaveSpentCode = mayHaveSpentCode
        let entry = code.entry
        (status, level) = (entry.status, entry.level)
    }

    /// Nil where there is no page.
    package var visit: FailedVisit? {
        get { if case .of(let visit)? = page { visit } else { nil } }
        set { page = newValue.map { .of($0) } }
    }

    /// Whether the same request may succeed later. Never kept as the answer to a reload.
    package var isTemporary: Bool { [429, 503].contains(code.entry.status) }

    /// What ended a link, as stored with it.
    package init(ofLink stored: String?) {
        let known: [ReasonCode] = [
            .identityLinkedElsewhere, .accountAlreadyLinked, .userPending, .userDisabled, .revoked,
        ]
        self.init(known.first { $0.rawValue == stored } ?? .linkEnded)
    }

    /// A store's error becomes a failure in `Database`, and nowhere else.
    package init(store error: StoreError) { self.init(.unavailable, error.text) }

    /// In a sign-in and a link, a failing store has a code of its own.
    package var inSignIn: Failure {
        var failure = self
        if code == .unavailable { failure.code = .storage }
        return failure
    }

    static func ofStore<Value>(
        _ answer: @autoclosure () async throws(StoreError) -> Value
    ) async throws(Failure) -> Value {
        do throws(StoreError) {
            return try await answer()
        } catch {
            throw Failure(store: error)
        }
    }

    package var description: String { detail ?? code.rawValue }
}

/// What a failure's page knows about its visitor, and about the page that began the attempt.
package struct FailedVisit: Hashable, Sendable {
    /// Where another attempt leads, or where the link would have led.
    package var returnTo: ReturnTarget?
    /// Where it leads when cancelled.
    package var errorReturn: ReturnTarget?
    package var link: LinkID?
    /// The language chosen by `ui_locales`; nil when the browser's own is right.
    package var language: String?
    /// `Set-Cookie` for a name that would otherwise be lost.
    package var cookies: [String] = []
    /// The refused person, where the page names them.
    package var person: User?
    /// The application that the page is about.
    package var client: OpenIDClient?
    /// The address that notifies the client.
    package var declined: String?

    package init(_ change: (inout FailedVisit) -> Void = { _ in }) { change(&self) }
}
