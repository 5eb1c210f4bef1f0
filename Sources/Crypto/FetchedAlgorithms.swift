internal import COpenSSL

/// OpenSSL's algorithms that this server uses, fetched once: fetching by name costs more than hashing a token.
///
/// This server cannot run without one of them, and no request decides which: a missing one traps.
@safe final class FetchedAlgorithms: @unchecked Sendable {
    // @unchecked: EVP_MD, EVP_CIPHER, EVP_KDF and EVP_MAC are immutable once fetched and may be shared by threads
    // (openssl-threads(7)); these are never freed.
    static let shared = FetchedAlgorithms()

    let sha256: OpaquePointer
    let sha512: OpaquePointer
    let aes256GCM: OpaquePointer
    let hkdf: OpaquePointer
    let hmac: OpaquePointer

    private init() {
        unsafe sha256 = unsafe Self.require(EVP_MD_fetch(nil, "SHA256", nil), "SHA-256")
        unsafe sha512 = unsafe Self.require(EVP_MD_fetch(nil, "SHA512", nil), "SHA-512")
        unsafe aes256GCM = unsafe Self.require(EVP_CIPHER_fetch(nil, "AES-256-GCM", nil), "AES-256-GCM")
        unsafe hkdf = unsafe Self.require(EVP_KDF_fetch(nil, "HKDF", nil), "HKDF")
        unsafe hmac = unsafe Self.require(EVP_MAC_fetch(nil, "HMAC", nil), "HMAC")
    }

    private static func require(_ algorithm: OpaquePointer?, _ name: String) -> OpaquePointer {
        guard let algorithm = unsafe algorithm else { preconditionFailure("This OpenSSL offers no \(name).") }
        return unsafe algorithm
    }
}

/// Makes OpenSSL's name-and-value parameters (OSSL_PARAM(3)).
///
/// OpenSSL keeps the pointers to names and values. A Swift `String` passed to C lives only during that call, so names
/// and constant texts are `StaticString`s, which live as long as the process.
enum ProviderParameters {
    static func pointer(_ text: StaticString) -> UnsafePointer<CChar> {
        // Safe: a static string with a pointer representation ends with a zero byte and is never freed; literals of
        // more than one ASCII character always have one.
        unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    static func text(_ name: StaticString, _ value: StaticString) -> OSSL_PARAM {
        // Safe: OpenSSL reads a text parameter and never writes it.
        unsafe OSSL_PARAM_construct_utf8_string(pointer(name), UnsafeMutablePointer(mutating: pointer(value)), 0)
    }

    /// - Parameter bytes: must outlive the use of the parameter.
    static func octets(_ name: StaticString, _ bytes: UnsafeRawBufferPointer) -> OSSL_PARAM {
        // Safe: OpenSSL reads an octet parameter and never writes it.
        unsafe OSSL_PARAM_construct_octet_string(
            pointer(name), UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
    }
}
