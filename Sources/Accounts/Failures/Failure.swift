package import Logging
package import Storage

/// Why something was refused: a value made where it happens, and rendered once for each protocol.
package struct Failure: Error, Hashable, Sendable {
    package private(set) var code: ReasonCode
    /// For the operator's log; of an invalid request, for its developer too. Never contains a token, a code or an
    /// address.
    package var detail: String?
    /// The HTTP status of the answer: the code's, but for a method that nobody knows.
    package var status: Int
    /// Of the line in the log.
    package var level: Logger.Level
    /// Seconds until another try may succeed, where that is known.
    package var retryAfter: Int?
    /// Apple may have redeemed the code all the same: it was sent, and the answer did not arrive.
    package let mayHaveSpentCode: Bool
    /// The values of `WWW-Authenticate`, where the code does not say them.
    package var challenges: [String] = []
    /// As a program reads it that speaks OpenID Connect, where the code does not say it.
    package var oauth: ProviderError?
    private var page: Page?

    /// Held apart: a failure without a page stays small.
    private indirect enum Page: Hashable { case of(FailedVisit) }

    package init(_ code: ReasonCode, _ detail: String? = nil, mayHaveSpentCode: Bool = false) {
        self.code = code
        self.detail = detail
        self.mayHaveSpentCode = mayHaveSpentCode
        let entry = code.entry
        (status, level) = (entry.status, entry.level)
    }

    /// What the page knows of its visitor; nil where there is no page.
    package var visit: FailedVisit? {
        get { if case .of(let visit)? = page { visit } else { nil } }
        set { page = newValue.map { .of($0) } }
    }

    /// Neither the visitor's fault nor a refusal: the same request may succeed later. Never kept as the answer for a
    /// reload.
    package var isTemporary: Bool { [429, 503].contains(code.entry.status) }

    /// What ended a link, as stored with it, for repeated requests.
    package init(ofLink stored: String?) {
        let known: [ReasonCode] = [
            .identityLinkedElsewhere, .accountAlreadyLinked, .userPending, .userDisabled, .revoked,
        ]
        self.init(known.first { $0.rawValue == stored } ?? .linkEnded)
    }
}

extension Failure {
    /// What went wrong in the store. Its error becomes a failure in `Database`, and nowhere else.
    package init(store error: StoreError) { self.init(.unavailable, error.text) }

    /// In a sign-in and a link, what the store could not do has a code of its own.
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
}

extension Failure: CustomStringConvertible {
    package var description: String { detail ?? code.rawValue }
}

/// What the page of a failure knows of its visitor, and of the page that began it.
package struct FailedVisit: Hashable, Sendable {
    /// Where another attempt leads, or where the link would have led.
    package var returnTo: ReturnTarget?
    /// Where it leads when cancelled.
    package var errorReturn: ReturnTarget?
    package var link: LinkID?
    /// The language chosen by `ui_locales`; nil when the browser's own is right.
    package var language: String?
    /// `Set-Cookie` for what would otherwise be lost.
    package var cookies: [String] = []
    /// Who was refused, where the page names them.
    package var person: User?
    /// The program that the page is about.
    package var program: OpenIDClient?
    /// Tells the program.
    package var declined: String?

    package init(_ change: (inout FailedVisit) -> Void = { _ in }) { change(&self) }
}
