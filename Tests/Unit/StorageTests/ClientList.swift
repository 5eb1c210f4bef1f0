import Coding

@testable import Accounts

extension Database {
    /// Writes what is different in the list that `change` makes of the clients, whatever `Clients` refuses; returns it
    /// by id.
    func changeOpenIDClients(
        at now: Timestamp, _ change: @escaping @Sendable ([OpenIDClient]) -> [OpenIDClient]
    ) async throws(Failure) -> [OpenIDClient] {
        try await write(at: now) { transaction in
            let found = try transaction.openIDClients()
            try transaction.replace(found, with: change(found))
            return try transaction.openIDClients()
        }
    }
}
