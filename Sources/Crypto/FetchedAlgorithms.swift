internal import COpenSSL

/// OpenSSL's algorithms that this server uses, fetched once: fetching by name costs more than hashing a token.
///
/// Without one of them this server cannot run at all, and no request decides which is fetched, so a missing one traps
/// with its name.
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
        guard let sha256 = unsafe EVP_MD_fetch(nil, "SHA256", nil) else {
            preconditionFailure("This OpenSSL offers no SHA-256.")
        }
        guard let sha512 = unsafe EVP_MD_fetch(nil, "SHA512", nil) else {
            preconditionFailure("This OpenSSL offers no SHA-512.")
        }
        guard let aes256GCM = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
            preconditionFailure("This OpenSSL offers no AES-256-GCM.")
        }
        guard let hkdf = unsafe EVP_KDF_fetch(nil, "HKDF", nil) else {
            preconditionFailure("This OpenSSL offers no HKDF.")
        }
        guard let hmac = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else {
            preconditionFailure("This OpenSSL offers no HMAC.")
        }
        unsafe self.sha256 = sha256
        unsafe self.sha512 = sha512
        unsafe self.aes256GCM = aes256GCM
        unsafe self.hkdf = hkdf
        unsafe self.hmac = hmac
    }
}
