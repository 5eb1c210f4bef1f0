import Testing

@testable import Storage

/// What a server that was replaced cannot show.
@Suite struct PostgresProofTests {
    private let proof = PostgresProof(node: "a")

    @Test func aServerWithoutTheLastPoll_isNotBelieved() {
        let first = proof.begin()
        proof.commit(first)
        #expect(proof.accepts(first, known: proof.committed))
        let known = proof.begin()
        proof.commit(known)
        #expect(!proof.accepts(first, known: known))
        // A poll whose answer is on its way.
        #expect(proof.accepts(proof.begin(), known: known))
    }

    /// The old primary keeps a poll that waits for its standby, and commits it when it gives up the wait.
    @Test func aPollThatFailed_isNoProof_evenWhereItWasCommitted() {
        let failed = proof.begin()
        proof.fail(failed)
        let next = proof.begin()
        #expect(next != failed)
        proof.commit(next)
        #expect(!proof.accepts(failed, known: 0))
        #expect(proof.accepts(next, known: 0))
        for _ in 0..<1_000 { proof.fail(proof.begin()) }
        #expect(proof.accepts(next, known: next))
    }
}
