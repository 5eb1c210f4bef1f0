import Testing

@testable import Accounts
@testable import Storage

/// What a primary that was replaced cannot show.
@Suite struct PostgresProofTests {
    /// The old primary keeps a poll that waits for its standby, and may commit it when it gives up the wait: it would then
    /// have shown the number of the poll that the new primary has.
    @Test func theNumberOfAFailedPoll_isNotReused() {
        let proof = PostgresProof(node: "a")
        #expect(proof.committed == 0)
        let failed = proof.begin()
        let next = proof.begin()
        proof.commit(next)
        #expect(failed < proof.committed)
    }
}
