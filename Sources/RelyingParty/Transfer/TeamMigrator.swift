/// `transfer_sub`: the name of one person on the way from one team to another. Opaque; it means something to Apple and
/// these two teams alone.
package struct TransferSubject: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// Apple's endpoint for moving people between teams (TN3159), asked as the team of the configuration.
package protocol TeamMigrator: Sendable {
    /// Gets leave to ask, so that a wrong key is known before anybody is asked about.
    func prepare() async throws(MigrationFailure)
    /// The sending team: the name by which `recipient` may ask for this person. The same however often it is asked for.
    func transferSubject(
        of subject: AppleSubject, to recipient: TeamID
    ) async throws(MigrationFailure) -> TransferSubject
    /// The receiving team: who the person is there.
    func identity(of transferSubject: TransferSubject) async throws(MigrationFailure) -> TransferredIdentity
}

/// A person as the receiving team knows them.
package struct TransferredIdentity: Hashable, Sendable {
    package var subject: AppleSubject
    /// The relay address of the new team, for who hides theirs; Apple tells no other.
    package var email: EmailAddress?

    package init(subject: AppleSubject, email: EmailAddress? = nil) {
        self.subject = subject
        self.email = email
    }
}

/// Why Apple did not answer as hoped. The texts are for the operator; none holds a token or names a person.
package enum MigrationFailure: Error, Hashable, Sendable {
    /// About this one person: they revoked their consent, the window of 60 days is over, or the other team is wrong.
    case personRefused(String)
    /// Apple refuses us, and would whoever it is asked about.
    case clientRefused(String)
    /// Apple does not answer, or not sensibly, or asks for patience: `retryAfter` in seconds.
    case unavailable(String, retryAfter: Int64? = nil)
}
