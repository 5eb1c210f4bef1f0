import COpenSSL

/// The public half of a relying party's Sign in with Apple key (P-256).
///
/// `@safe`: the pointer is set once, never leaves this class and is freed only by `deinit`.
///
/// Proof for `@unchecked Sendable`: the one property is constant, nothing here changes the EVP_PKEY behind it, and
/// OpenSSL 3 allows one to be used by several verifying contexts at a time (openssl-threads(7)).
@safe
package final class ClientKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// - Parameter pem: a public key (`BEGIN PUBLIC KEY`), or a `.p8` (`BEGIN PRIVATE KEY`), of which only the public
    ///   half is used. Nil for anything but a P-256 key.
    package init?(pem: String) {
        let bytes = Array(pem.utf8)
        // Not BIO_new_mem_buf: that keeps the pointer, which is valid only for this call.
        guard let copy = unsafe BIO_new(BIO_s_mem()) else { return nil }
        defer { unsafe BIO_free(copy) }
        guard unsafe BIO_write(copy, bytes, Int32(bytes.count)) == Int32(bytes.count) else { return nil }
        let read =
            if pem.contains("PRIVATE KEY") {
                unsafe PEM_read_bio_PrivateKey(copy, nil, { _, _, _, _ in 0 }, nil)
            } else {
                unsafe PEM_read_bio_PUBKEY(copy, nil, nil, nil)
            }
        guard let read = unsafe read else { return nil }
        var group = [UInt8](repeating: 0, count: 64)
        var count = 0
        let isP256 = unsafe group.withUnsafeMutableBufferPointer { buffer in
            // The name is written with its terminator into at most `buffer.count` bytes.
            let base = unsafe UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self)
            return unsafe EVP_PKEY_get_group_name(read, base, buffer.count, &count) == 1
        }
        guard isP256, String(decoding: group.prefix(count), as: UTF8.self) == "prime256v1" else {
            unsafe EVP_PKEY_free(read)
            return nil
        }
        unsafe self.key = unsafe read
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// A new key as Apple would let you download it: P-256 in PKCS#8, in PEM. Nil when OpenSSL cannot make one.
    package static func makeP8() -> [UInt8]? {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1, unsafe EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            unsafe EVP_PKEY_generate(context, &made) == 1, let key = unsafe made
        else { return nil }
        defer { unsafe EVP_PKEY_free(key) }
        guard let output = unsafe BIO_new(BIO_s_mem()) else { return nil }
        defer { unsafe BIO_free(output) }
        guard unsafe PEM_write_bio_PKCS8PrivateKey(output, key, nil, nil, 0, nil, nil) == 1 else { return nil }
        // Some 240 bytes; BIO_read writes no more than the count.
        var text = [UInt8](repeating: 0, count: 1024)
        let count = unsafe BIO_read(output, &text, Int32(text.count))
        return count > 0 ? Array(text.prefix(Int(count))) : nil
    }

    /// ES256 (RFC 7518 §3.4): `signature` is R‖S, 64 bytes. A DER signature is refused, as Apple refuses it.
    package func verifies(signature: [UInt8], message: [UInt8]) -> Bool {
        guard signature.count == 64, let der = Self.der(signature),
            let context = unsafe EVP_MD_CTX_new()
        else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }

    /// `SEQUENCE { INTEGER r, INTEGER s }`, OpenSSL's form.
    private static func der(_ signature: [UInt8]) -> [UInt8]? {
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.isEmpty || digits[0] >= 0x80 { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        let content = integer(signature.prefix(32)) + integer(signature.suffix(32))
        return [0x30, UInt8(content.count)] + content
    }
}
