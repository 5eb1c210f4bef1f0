internal import COpenSSL

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
