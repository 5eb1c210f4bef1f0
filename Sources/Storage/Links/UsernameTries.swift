package import Coding
package import Crypto
package import RelyingParty

// How often a name was tried. A `Database` is a `LinkStore`: see LinkSteps.swift.
extension Database {
    package func countTry(
        of name: Digest256, maximum: Int, at now: Timestamp
    ) async throws(StoreError) -> CountedTry {
        let window = RetentionPolicy.usernameTries
        return try await write(at: now) { transaction in
            // Another machine's clock may be a little ahead. A try of the far future is from before the clock was set
            // back, and counts no more.
            let counted = try transaction.rows(
                "SELECT tried_at FROM username_try WHERE name = ? AND tried_at > ? AND tried_at < ? ORDER BY tried_at",
                [name, now.adding(seconds: -window), now.adding(seconds: window)]
            ).map { row -> Timestamp in try row["tried_at"] }
            if counted.count >= maximum, let oldest = counted.first {
                return .refused(until: oldest.adding(seconds: window))
            }
            let moment = max(now, counted.last?.adding(milliseconds: 1) ?? now)
            try transaction.run("INSERT INTO username_try (name, tried_at) VALUES (?, ?)", [name, moment])
            return .counted(moment)
        }
    }

    package func restoreTry(of name: Digest256, at moment: Timestamp) async throws(StoreError) {
        try await write { transaction in
            try transaction.run("DELETE FROM username_try WHERE name = ? AND tried_at = ?", [name, moment])
        }
    }
}
