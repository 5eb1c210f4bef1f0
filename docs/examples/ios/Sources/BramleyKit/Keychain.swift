#if canImport(Security)
    import Foundation
    import Security

    /// One secret of this app in the Keychain: on this device only, readable after the first unlock.
    struct KeychainItem: Sendable {
        let account: String
        /// The keychain group shared with extensions, such as `TEAM123456.com.example.shared`. Nil: the app's own.
        var group: String?

        private var query: [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: account,
                kSecAttrService as String: (Bundle.main.bundleIdentifier ?? "") + ".bramley",
                // The keychain of iPhones, on a Mac too.
                kSecUseDataProtectionKeychain as String: true,
            ]
            query[kSecAttrAccessGroup as String] = group
            return query
        }

        /// Nil if there is none.
        func read() -> Data? {
            var query = query
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var found: CFTypeRef?
            guard SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess else { return nil }
            return found as? Data
        }

        /// Replaces the stored value.
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
#endif
