/// Why a certificate and its key cannot be served; each gives one line for the operator.
package enum TLSConfigurationError: Error, Hashable, Sendable {
    /// The text contains no certificate, or one of the chain cannot be read; OpenSSL's text.
    case certificate(String)
    /// The text contains no private key, or it cannot be read; OpenSSL's text.
    case privateKey(String)
    /// The key is protected by a passphrase, which nobody could type.
    case encryptedPrivateKey
    /// Not RSA of 2048 bits or more, P-256, P-384 or P-521.
    case unsupportedKey(String)
    /// The key belongs to a certificate other than the first of the chain.
    case mismatch
    /// OpenSSL refused a setting.
    case library(String)
}

extension TLSConfigurationError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .certificate(let cause): "the certificate is no PEM chain that can be read (\(cause))"
        case .privateKey(let cause): "the private key is no PEM key that can be read (\(cause))"
        case .encryptedPrivateKey: "the private key is protected by a passphrase; give it without"
        case .unsupportedKey(let kind):
            "the private key is \(kind); browsers take RSA of 2048 bits or more, P-256, P-384 and P-521"
        case .mismatch: "the private key belongs to another certificate than the first of the chain"
        case .library(let cause): "TLS cannot be set up (\(cause))"
        }
    }
}
