import Coding
import Crypto
import MemoryStores
import RelyingParty
import Testing

@testable import Storage

extension UserDirectory {
    /// Whether there was such a user.
    func setState(_ state: User.State, of id: UserID, at now: Timestamp) async throws(StoreError) -> Bool {
        try await patchUser(id, UserPatch(state: state), at: now) != .unknown
    }
}
