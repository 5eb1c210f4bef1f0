internal import COpenSSL
internal import Synchronization

/// The keys that seal session tickets (RFC 5077 §4, RFC 8446 §4.6.1): a new one every hour, each kept until the last
/// ticket it sealed has expired.
///
/// A ticket contains its session's secret, so whoever has its key can read sessions resumed by TLS 1.2 (TLS 1.3 adds a
/// new key exchange). So keys are short-lived, only in this process's memory, and zeroed on destruction. All loops, and
/// the contexts of successive certificates, share them.
package final class TicketKeys: Sendable {
    /// How long one key seals, in milliseconds.
    package static let sealingTime: Int64 = 3_600_000
    /// How long a ticket resumes, in seconds (RFC 8446 §4.6.1: up to seven days). Later costs a full handshake.
    package static let ticketLifetime = 14_400

    private struct Key {
        /// A name of 16 bytes, an AES-256 key of 32, an HMAC-SHA-256 key of 32.
        var material: [UInt8]
        var madeAt: Deadline
    }

    private static let nameSize = 16
    private static let secretSize = 32
    private static let keySize = nameSize + 2 * secretSize

    private let keys = Mutex<[Key]>([])
    private let random: @Sendable (Int) -> [UInt8]
    private let clock: @Sendable () -> Deadline

    init(random: @escaping @Sendable (Int) -> [UInt8], clock: @escaping @Sendable () -> Deadline) {
        self.random = random
        self.clock = clock
    }

    deinit {
        keys.withLock { keys in
            for index in keys.indices { keys[index].material.wipe() }
        }
    }

    /// The number of keys: the current one, and those whose tickets have not all expired.
    package var count: Int { keys.withLock { $0.count } }

    /// Zeroes keys whose tickets have all expired. Handshakes also do this; a timer calls it in case none come.
    package func dropExpired() {
        let now = clock()
        keys.withLock { Self.dropExpired(&$0, now) }
    }

    private static func dropExpired(_ keys: inout [Key], _ now: Deadline) {
        let span = sealingTime + Int64(ticketLifetime) * 1000
        // Newest first, so expired keys are at the end.
        while let last = keys.indices.last, keys[last].madeAt.adding(milliseconds: span) <= now {
            keys[last].material.wipe()
            keys.removeLast()
        }
    }

    // MARK: OpenSSL's callback

    /// Chooses the key of a ticket and configures OpenSSL's cipher and MAC, as `SSL_CTX_set_tlsext_ticket_key_evp_cb`
    /// describes. On failure OpenSSL continues without a ticket.
    static let callback:
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt8>?, OpaquePointer?, OpaquePointer?,
            Int32
        ) -> Int32 = { ssl, name, iv, cipher, mac, isSealing in
            // Invariant: the application data of a server's context is its `TicketKeys`, which the context keeps alive;
            // `name` has 16 bytes, `iv` at least 16 (EVP_MAX_IV_LENGTH).
            guard let context = unsafe SSL_get_SSL_CTX(ssl), let data = unsafe bramley_SSL_CTX_get_app_data(context),
                let name = unsafe name, let iv = unsafe iv
            else { return 0 }
            let keys = unsafe Unmanaged<TicketKeys>.fromOpaque(data).takeUnretainedValue()
            if isSealing == 1 { return unsafe keys.seal(name: name, iv: iv, cipher, mac) }
            let result = unsafe keys.open(name: name, iv: iv, cipher, mac)
            // RFC 8446 §C.4: a TLS 1.3 client uses a ticket once, so that its connections cannot be linked. Without a
            // new ticket each time it could resume only every other connection.
            let version = unsafe SSL_version(ssl)
            return result == 1 && version == TLS1_3_VERSION ? 2 : result
        }

    private func seal(
        name: UnsafeMutablePointer<UInt8>, iv: UnsafeMutablePointer<UInt8>, _ cipher: OpaquePointer?,
        _ mac: OpaquePointer?
    ) -> Int32 {
        let now = clock()
        return keys.withLock { keys in
            Self.dropExpired(&keys, now)
            if keys.first.map({ $0.madeAt.adding(milliseconds: Self.sealingTime) <= now }) ?? true {
                let material = random(Self.keySize)
                guard material.count == Self.keySize else { return 0 }
                keys.insert(Key(material: material, madeAt: now), at: 0)
            }
            return unsafe keys[0].material.withUnsafeBufferPointer { material in
                guard let base = material.baseAddress, unsafe RAND_bytes(iv, 16) == 1 else { return 0 }
                unsafe name.update(from: base, count: Self.nameSize)
                let key = unsafe base + Self.nameSize
                guard unsafe EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nil, key, iv) == 1,
                    unsafe bramley_EVP_MAC_CTX_set_HMAC_SHA256(mac, key + Self.secretSize, Self.secretSize) == 1
                else { return 0 }
                return 1
            }
        }
    }

    /// 1 when the ticket is ours, 2 when the current key should replace it, 0 when it is unknown.
    private func open(
        name: UnsafeMutablePointer<UInt8>, iv: UnsafeMutablePointer<UInt8>, _ cipher: OpaquePointer?,
        _ mac: OpaquePointer?
    ) -> Int32 {
        let now = clock()
        return keys.withLock { keys in
            Self.dropExpired(&keys, now)
            for index in keys.indices {
                let result: Int32? = unsafe keys[index].material.withUnsafeBufferPointer { material in
                    guard let base = material.baseAddress else { return nil }
                    // The name is not secret.
                    for place in 0..<Self.nameSize where unsafe base[place] != name[place] { return nil }
                    let key = unsafe base + Self.nameSize
                    guard unsafe EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nil, key, iv) == 1,
                        unsafe bramley_EVP_MAC_CTX_set_HMAC_SHA256(mac, key + Self.secretSize, Self.secretSize) == 1
                    else { return 0 }
                    return index == 0 ? 1 : 2
                }
                if let result { return result }
            }
            return 0
        }
    }
}
