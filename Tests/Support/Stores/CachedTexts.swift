package import Accounts
package import Coding
package import Crypto
package import Storage

extension SessionCache {
    /// With room for `capacity` sessions whose texts have `length` bytes.
    package convenience init(
        reader: SessionReader, invalidations: SessionInvalidations, limits: SessionLimits, capacity: Int,
        length: Int = 40
    ) {
        self.init(
            reader: reader, invalidations: invalidations, limits: limits, memory: capacity * (80 + length),
            valueSize: length)
    }

    /// What `prepare` made of the session, now or before; nil when there is none.
    package func text(
        of token: Digest256, at now: Timestamp, prepare: (SignedIn) -> String
    ) throws(StoreError) -> (text: String, isTouchDue: Bool)? {
        var found: (String, Bool)?
        _ = try lookUp(token: token, now: now, prepare: { Array(prepare($0).utf8) }) { value, isTouchDue in
            found = (String(decoding: value.indices.map { value[$0] }, as: UTF8.self), isTouchDue)
            return true
        }
        return found
    }
}
