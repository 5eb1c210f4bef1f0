internal import COpenSSL
internal import Coding

/// Owns one `X509`. Not Sendable; `CertificateSummary` is.
@safe final class X509Certificate {
    private let pointer: OpaquePointer

    private init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe X509_free(pointer) }

    /// - Parameter der: exactly one certificate.
    convenience init?(der: [UInt8]) {
        defer { ErrorQueue.clear() }
        // Safe: the parse reads at most `count` bytes and moves `cursor` to where it stopped.
        let parsed: OpaquePointer? = unsafe der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            guard let found = unsafe d2i_X509(nil, &cursor, buffer.count) else { return nil }
            let end = unsafe buffer.baseAddress.map { unsafe $0 + buffer.count }
            guard unsafe cursor == end else {
                unsafe X509_free(found)
                return nil
            }
            return unsafe found
        }
        guard let parsed = unsafe parsed else { return nil }
        unsafe self.init(owning: parsed)
    }

    /// All certificates of a text, in its order; other blocks are ignored.
    static func parse(pem: [UInt8], maximum: Int) throws(CertificateChain.Flaw) -> [X509Certificate] {
        defer { ErrorQueue.clear() }
        ErrorQueue.clear()
        let pem = PastedText.pem(pem)
        guard let count = Int32(exactly: pem.count) else { throw .tooLong }
        var found: [X509Certificate] = []
        // Safe: the BIO reads the buffer only within this closure, and is freed in it.
        let flaw: CertificateChain.Flaw? = unsafe pem.withUnsafeBytes { buffer in
            guard count > 0, let input = unsafe BIO_new_mem_buf(buffer.baseAddress, count) else { return nil }
            defer { unsafe BIO_free(input) }
            // Certificates have no passphrase; the callback keeps OpenSSL from prompting on the terminal.
            while let next = unsafe PEM_read_bio_X509(input, nil, { _, _, _, _ in 0 }, nil) {
                unsafe found.append(X509Certificate(owning: next))
                if found.count > maximum { return .tooLong }
            }
            // OpenSSL reports the end of the text like a block that cannot be read.
            let isEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
            return isEnd ? nil : .malformed(found.count + 1)
        }
        if let flaw { throw flaw }
        return found
    }

    // MARK: Fields

    var der: [UInt8]? {
        defer { ErrorQueue.clear() }
        let count = unsafe i2d_X509(pointer, nil)
        guard count > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        // Safe: the buffer has the size that OpenSSL requested just before.
        let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe i2d_X509(pointer, &cursor)
        }
        return written == count ? bytes : nil
    }

    var notBefore: Int64? { unsafe Self.seconds(X509_get0_notBefore(pointer)) }
    var notAfter: Int64? { unsafe Self.seconds(X509_get0_notAfter(pointer)) }

    /// Seconds since 1970.
    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        defer { ErrorQueue.clear() }
        guard let time = unsafe time, let epoch = unsafe ASN1_TIME_set(nil, 0) else { return nil }
        defer { unsafe ASN1_TIME_free(epoch) }
        var days: Int32 = 0
        var rest: Int32 = 0
        // Safe: both times are complete, and the two numbers are on the stack.
        guard unsafe ASN1_TIME_diff(&days, &rest, epoch, time) == 1 else { return nil }
        return Int64(days) * 86_400 + Int64(rest)
    }

    var subject: String { unsafe Self.text(X509_get_subject_name(pointer)) }
    var issuer: String { unsafe Self.text(X509_get_issuer_name(pointer)) }

    /// The parts, most specific first, joined by commas, keeping UTF-8 and escaping control characters.
    private static func text(_ name: OpaquePointer?) -> String {
        defer { ErrorQueue.clear() }
        guard let output = unsafe BIO_new(BIO_s_mem()) else { return "" }
        defer { unsafe BIO_free(output) }
        guard unsafe X509_NAME_print_ex(output, name, 0, bramley_X509_name_flags()) >= 0 else { return "" }
        var bytes = [UInt8](repeating: 0, count: 512)
        // Safe: OpenSSL writes at most the size of the array.
        let count = unsafe BIO_read(output, &bytes, Int32(bytes.count))
        return String(decoding: bytes.prefix(max(0, Int(count))), as: UTF8.self)
    }

    var isAuthority: Bool { unsafe X509_check_ca(pointer) != 0 }

    var keyKind: CertificateSummary.KeyKind? {
        defer { ErrorQueue.clear() }
        guard let key = unsafe X509_get0_pubkey(pointer) else { return nil }
        if unsafe EVP_PKEY_is_a(key, "RSA") == 1 { return unsafe .rsa(bits: Int(EVP_PKEY_get_bits(key))) }
        if unsafe EVP_PKEY_is_a(key, "EC") == 1 { return unsafe .elliptic(curve: EVPKey.groupName(of: key) ?? "") }
        return unsafe .other(EVP_PKEY_get0_type_name(key).map { unsafe String(cString: $0) } ?? "")
    }

    /// DNS names in lower case and IP addresses of subjectAltName.
    var names: [String] {
        defer { ErrorQueue.clear() }
        guard let extension_ = unsafe X509_get_ext_d2i(pointer, NID_subject_alt_name, nil, nil) else { return [] }
        let all = OpaquePointer(extension_)
        defer { unsafe GENERAL_NAMES_free(all) }
        var found: [String] = []
        for place in 0..<(unsafe OPENSSL_sk_num(all)) {
            // Safe: the returned names live as long as their stack.
            guard let entry = unsafe OPENSSL_sk_value(all, place) else { continue }
            var kind: Int32 = 0
            let name = unsafe entry.assumingMemoryBound(to: GENERAL_NAME.self)
            guard let value = unsafe GENERAL_NAME_get0_value(name, &kind) else { continue }
            guard kind == GEN_DNS || kind == GEN_IPADD else { continue }
            let string = unsafe value.assumingMemoryBound(to: ASN1_STRING.self)
            guard let start = unsafe ASN1_STRING_get0_data(string) else { continue }
            let bytes = unsafe [UInt8](UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(string))))
            if kind == GEN_DNS {
                found.append(String(decoding: bytes, as: UTF8.self).lowercased())
            } else if let address = Self.address(bytes) {
                found.append(address)
            }
        }
        return found
    }

    /// An IPv4 address, or an IPv6 address in eight groups.
    private static func address(_ bytes: [UInt8]) -> String? {
        switch bytes.count {
        case 4: return bytes.map { "\($0)" }.joined(separator: ".")
        case 16:
            return stride(from: 0, to: 16, by: 2).map {
                String(UInt16(bigEndianBytes: bytes[$0...$0 + 1]), radix: 16)
            }.joined(separator: ":")
        default: return nil
        }
    }

    // MARK: Matching

    func covers(_ host: String) -> Bool {
        defer { ErrorQueue.clear() }
        if unsafe X509_check_ip_asc(pointer, host, 0) == 1 { return true }
        let flags = UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
        return unsafe X509_check_host(pointer, host, host.utf8.count, flags, nil) == 1
    }

    /// By name, key identifier and key usage; the signature is not verified.
    func isIssued(by issuer: X509Certificate) -> Bool {
        defer { ErrorQueue.clear() }
        return unsafe X509_check_issued(issuer.pointer, pointer) == X509_V_OK
    }

    func certifies(_ key: EVPKey) -> Bool {
        defer { ErrorQueue.clear() }
        return unsafe X509_check_private_key(pointer, key.pointer) == 1
    }
}
