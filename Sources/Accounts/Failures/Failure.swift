package import Storage

/// Why something was refused: a value made where it happens, and rendered once for each protocol.
package struct Failure: StoreFailure, Hashable, Sendable {
    package let code: ReasonCode
    /// For the operator's log; of an invalid request, for its developer too. Never contains a token, a code or an
    /// address.
    package let detail: String?
    /// Seconds until another try may succeed, where that is known.
    package var retryAfter: Int?
    /// Apple may have redeemed the code all the same: it was sent, and the answer did not arrive.
    package let mayHaveSpentCode: Bool

    package init(_ code: ReasonCode, _ detail: String? = nil, mayHaveSpentCode: Bool = false) {
        self.code = code
        self.detail = detail
        self.mayHaveSpentCode = mayHaveSpentCode
    }

    package init(store error: StoreError) { self.init(.storage, error.text) }

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
