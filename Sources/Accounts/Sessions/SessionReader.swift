package import Coding
package import Crypto
package import Storage

/// One event loop's synchronous lookup: its own read-only connection and a cached statement. Not Sendable.
package struct SessionReader {
    /// A session, and the generation of the invalidations before it was read.
    package typealias Found = (found: SignedIn, readAt: UInt64)

    private let read: (Digest256, Timestamp) throws(StoreError) -> SignedIn?
    /// Sessions that this loop missed and requests have read since.
    package let takeFound: () -> [Found]

    package init(
        takeFound: @escaping () -> [Found] = { [] },
        _ read: @escaping (_ token: Digest256, _ now: Timestamp) throws(StoreError) -> SignedIn?
    ) {
        self.read = read
        self.takeFound = takeFound
    }

    package func signedIn(token: Digest256, at now: Timestamp) throws(StoreError) -> SignedIn? { try read(token, now) }
}

/// Makes `SessionReader`s, and invalidates what they read.
package protocol SessionDirectory: Sendable {
    func makeReader() throws(StoreError) -> SessionReader
    var invalidations: SessionInvalidations { get }
}

extension Database: SessionDirectory {
    package func makeReader() throws(StoreError) -> SessionReader {
        if let sharedSessions { return sharedSessions.makeReader() }
        let opened: (any EngineConnection)?
        do { opened = try store.engine.loopConnection() } catch { throw StoreError(error) }
        guard let connection = opened else { throw .inconsistent("no connection for an event loop") }
        // The statement is reset before every answer, so no read transaction outlives a call.
        return SessionReader { [context] token, now throws(StoreError) in
            do { return try Snapshot(connection, context, at: now).signedIn(token) } catch { throw StoreError(error) }
        }
    }

    /// The live session of this token with its user (in any state); nil when unknown, ended or expired.
    ///
    /// Where a lookup goes over the network, from the cache while it is trusted; otherwise from the database. If that does
    /// not answer, throws: an outdated answer would sign someone in or out wrongly.
    package func signedIn(token: Digest256, at now: Timestamp) async throws(Failure) -> SignedIn? {
        guard let sharedSessions else { return try await lookUp(at: now) { try $0.signedIn(token) } }
        if invalidations.trust.holds(at: now), let kept = sharedSessions.kept(token, at: now) { return kept }
        return try await StorePatience.within(Self.longestLookUp) { () async throws(Failure) -> SignedIn? in
            try await ask(sharedSessions, token, at: now)
        }
    }

    /// With the rest of a check, the answer takes at most two seconds.
    private static var longestLookUp: Duration { .milliseconds(1_250) }

    private func ask(
        _ shared: SharedSessions, _ token: Digest256, at now: Timestamp
    ) async throws(Failure) -> SignedIn? {
        try await Failure.ofStore(await store.engine.ensureTrust(at: now))
        if let kept = shared.kept(token, at: now) { return kept }
        let generation = invalidations.generation
        let found = try await lookUp(at: now) { try $0.signedIn(token) }
        try await Failure.ofStore(await store.engine.ensureTrust(at: now))
        shared.keep(token, found, readAt: generation)
        return found
    }
}
