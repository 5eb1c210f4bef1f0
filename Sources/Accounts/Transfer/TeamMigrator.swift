/// `transfer_sub`: identifies one person on the way from one team to another. Opaque; only Apple and these two teams
/// understand it.
package struct TransferSubject: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// Apple's endpoint for moving people between teams (TN3159), called as the configured team.
package protocol TeamMigrator: Sendable {
    /// Obtains an access token, so that a wrong key is detected before anybody is asked about.
    func prepare() async throws(MigrationFailure)
    /// For the sending team: the identifier with which `recipient` may ask for this person. Always the same.
    func transferSubject(
        of subject: AppleSubject, to recipient: TeamID
    ) async throws(MigrationFailure) -> TransferSubject
    /// For the receiving team: who the person is there.
    func identity(of transferSubject: TransferSubject) async throws(MigrationFailure) -> TransferredIdentity
}

/// A person, as the receiving team knows them.
package struct TransferredIdentity: Hashable, Sendable {
    package var subject: AppleSubject
    /// The new team's relay address, for people who hide theirs; Apple reports no other.
    package var email: EmailAddress?

    package init(subject: AppleSubject, email: EmailAddress? = nil) {
        self.subject = subject
        self.email = email
    }
}

/// Why Apple did not answer as expected. The texts are for the operator; none contains a token or names a person.
package enum MigrationFailure: Error, Hashable, Sendable {
    /// Concerns this one person: they withdrew consent, the window of 60 days is over, or the other team is wrong.
    case personRefused(String)
    /// Apple refuses us, and would refuse any person.
    case clientRefused(String)
    /// Apple does not answer, or not usefully, or asks us to wait: `retryAfter` in seconds.
    case unavailable(String, retryAfter: Int64? = nil)
}
