import Coding
import Crypto
import Storage

extension DeviceRequest {
    fileprivate static let columns = """
        id, client, code_hash, user_code, scopes, services, user_agent, address, expires_at, session, is_allowed
        """

    fileprivate init(_ row: Row) throws(StoreError) {
        self.init(
            id: try row["id"], client: try row["client"], codeHash: try row["code_hash"],
            userCode: try row["user_code"], scopes: try row.scopes("scopes"), services: try row.texts("services"),
            device: Device(userAgent: try row["user_agent"], address: try row["address"]),
            expiresAt: try row["expires_at"], decidedIn: try row["session"], isAllowed: try row["is_allowed"])
    }
}

/// The one thing that is stored before anybody is signed in, so its number is bounded.
enum DeviceLimits {
    /// Requests that have not expired.
    static let requests = 1_000
    /// Wrong codes of a person, and from an address, in the life of one: 5 of 20⁸ are below 2⁻³² (RFC 8628 §5.1).
    static let tries = 5
}

extension Database {
    /// Stores a device's request, and deletes expired ones; false when there are too many.
    func keep(_ request: DeviceRequest, at now: Timestamp) async throws(Failure) -> Bool {
        try await write(at: now) { transaction in
            try transaction.run("DELETE FROM openid_device WHERE expires_at <= ?", [now])
            guard try transaction.count("SELECT count(*) FROM openid_device") < DeviceLimits.requests else {
                return false
            }
            return try transaction.change(
                """
                INSERT INTO openid_device (\(DeviceRequest.columns), polled_at, poll_interval)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 0, NULL, ?) ON CONFLICT (user_code) DO NOTHING
                """,
                [
                    request.id, request.client, request.codeHash, request.userCode, TextList(request.scopes),
                    TextList(request.services), request.device.userAgent, request.device.address, request.expiresAt,
                    OpenIDProvider.deviceInterval,
                ]) == 1
        }
    }

    /// The request of an entered code. One that is not found counts as a try of all `subjects`.
    func deviceRequest(
        _ userCode: DeviceUserCode, tried subjects: [String], at now: Timestamp
    ) async throws(Failure) -> DeviceRequest? {
        let hashes = subjects.map { SHA256.hash(utf8: $0) }
        return try await write(at: now) { transaction -> Result<DeviceRequest?, Failure> in
            for hash in hashes {
                let end: Timestamp? = try transaction.value(
                    "SELECT ends_at FROM openid_device_try WHERE subject = ? AND tries >= ? AND ends_at > ?",
                    [hash, DeviceLimits.tries, now])
                guard let end else { continue }
                var refusal = Failure(.tooManyRequests)
                refusal.retryAfter = Int((end.milliseconds - now.milliseconds + 999) / 1_000)
                return .failure(refusal)
            }
            let row = try transaction.firstRow(
                "SELECT \(DeviceRequest.columns) FROM openid_device WHERE user_code = ? AND expires_at > ?",
                [userCode, now])
            if let row { return .success(try DeviceRequest(row)) }
            try transaction.run("DELETE FROM openid_device_try WHERE ends_at <= ?", [now])
            for hash in hashes {
                // Each one begins the wait anew: no ten minutes have more than five tries.
                try transaction.run(
                    """
                    INSERT INTO openid_device_try (subject, tries, ends_at) VALUES (?, 1, ?) ON CONFLICT (subject)
                    DO UPDATE SET tries = openid_device_try.tries + 1, ends_at = excluded.ends_at
                    """, [hash, now.adding(seconds: OpenIDProvider.deviceLifetime)])
            }
            return .success(nil)
        }.get()
    }

    /// Records the decision, once, with the `grant` that it allows; false when it was decided, has expired, or the
    /// session has ended.
    func decide(
        _ id: Grant.ID, _ grant: Grant?, needing scopes: [String: [OpenIDScope]], in session: SessionID,
        at now: Timestamp
    ) async throws(Failure) -> Bool {
        try await write(at: now) { transaction in
            transaction.claim(.grant(id), .session(session))
            if let grant, !scopes.isEmpty { transaction.claim(.user(grant.user)) }
            let isOpen = try transaction.exists(
                "SELECT 1 FROM openid_device WHERE id = ? AND session IS NULL AND expires_at > ?", [id, now])
            guard isOpen else { return false }
            if let grant, try transaction.save(grant, of: nil, needing: scopes, isAllowed: true) != .saved {
                return false
            }
            try transaction.run(
                "UPDATE openid_device SET session = ?, is_allowed = ? WHERE id = ?", [session, grant != nil, id])
            return true
        }
    }

    /// Where the request of a device code stands. Each poll is recorded, for the pace of the next.
    func poll(
        _ code: GrantedDeviceCode, of client: OpenIDClientID, at now: Timestamp
    ) async throws(Failure) -> DevicePoll {
        try await write(at: now) { transaction in
            transaction.claim(.grant(code.grant))
            let columns = "client, code_hash, session, is_allowed, expires_at, polled_at, poll_interval"
            guard let row = try transaction.firstRow("SELECT \(columns) FROM openid_device WHERE id = ?", [code.grant])
            else {
                // Deleted; a grant that came of it ends with a replay.
                if try transaction.exists("SELECT 1 FROM openid_grant WHERE id = ?", [code.grant]) { return .allowed }
                let end = code.grant.time.adding(seconds: OpenIDProvider.deviceLifetime)
                return end <= now ? .expired : .unknown
            }
            let (owner, hash): (OpenIDClientID, Digest256) = (try row["client"], try row["code_hash"])
            guard owner == client, constantTimeEquals(hash, code.hash) else { return .unknown }
            let (session, isAllowed): (SessionID?, Bool) = (try row["session"], try row["is_allowed"])
            if session != nil { return isAllowed ? .allowed : .denied }
            let (end, interval): (Timestamp, Int64) = (try row["expires_at"], try row["poll_interval"])
            if end <= now { return .expired }
            let polledAt: Timestamp? = try row["polled_at"]
            // A second early is the network's doing.
            let isEarly = polledAt.map { now < $0.adding(seconds: interval - 1) } ?? false
            let next = min(interval + (isEarly ? OpenIDProvider.deviceInterval : 0), OpenIDProvider.deviceLifetime)
            // A flood of polls soon writes nothing any more.
            if !isEarly || next > interval {
                try transaction.run(
                    "UPDATE openid_device SET polled_at = ?, poll_interval = ? WHERE id = ?", [now, next, code.grant])
            }
            return isEarly ? .tooEarly : .pending
        }
    }
}
