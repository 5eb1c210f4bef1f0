import Foundation
import Security

/// One secret of this app in the Keychain: on this device alone, readable after the first unlock.
struct KeychainItem: Sendable {
    let account: String
    var service = "com.example.app.bramley"
    /// The keychain group that an app shares with its extensions, such as `TEAM123456.com.example.shared`. Nil: its own.
    var group: String?

    private var query: [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
            kSecAttrAccount as String: account,
        ]
        query[kSecAttrAccessGroup as String] = group
        return query
    }

    /// Nil when there is none.
    func read() -> Data? {
        var query = query
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var found: CFTypeRef?
        guard SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess else { return nil }
        return found as? Data
    }

    /// Replaces what was there.
    func write(_ data: Data) throws {
        SecItemDelete(query as CFDictionary)
        var item = query
        item[kSecValueData as String] = data
        item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecSuccess else { throw NSError(domain: NSOSStatusErrorDomain, code: Int(status)) }
    }

    func remove() { SecItemDelete(query as CFDictionary) }
}
