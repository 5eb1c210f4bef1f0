import Coding
import Crypto

extension FuzzTarget {
    /// Signed tokens under fixed keys: whatever is made of them, nothing verifies but what was signed.
    static let jws = FuzzTarget(name: "jws", maximumLength: 2048) { input throws(Finding) in
        guard let text = String(validating: input, as: UTF8.self) else { return nil }
        try check(text)
        // The parts in the clear, so that a change reaches the JSON inside: header, a line end, payload.
        let parts = input.split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let header = Base64URL.encode(Array(parts[0]))
        let payload = Base64URL.encode(Array(parts[1]))
        var accepted: [UInt8]?
        for example in JWSExample.all {
            let made = "\(header).\(payload).\(example.signature)"
            try check(made)
            if let jws = try? CompactJWS.parse(made) {
                try hold(jws.payload == Array(parts[1]), "another payload than was written")
                accepted = input
            }
        }
        return accepted
    }

    private static func check(_ text: String) throws(Finding) {
        for example in JWSExample.all {
            let outcome = JWSCheck.run(
                keyFile: Array(example.key.utf8), algorithm: example.algorithm, input: Array(text.utf8))
            guard outcome.isValid else { continue }
            // ES256 lets anyone make a second signature of one; what was signed is the same then.
            let parts = text.utf8.filter { $0 != 10 && $0 != 13 }.split(separator: UInt8(ascii: "."))
            let signed = parts.prefix(2).map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
            try hold(example.compact.hasPrefix(signed + "."), "\(example.algorithm) verifies \(text)")
        }
        guard let jws = try? CompactJWS.parse(text) else { return }
        try hold(!jws.signature.isEmpty && !jws.payload.isEmpty, "an empty part")
        let claims = try? JSONObject.claims(jws.payload)
        if let date = claims?.numericDate("exp") { try hold(date.milliseconds >= 0, "exp before 1970") }
    }
}

/// A token of RFC 7515, its key, and how it is signed.
private struct JWSExample: Sendable {
    let algorithm: String
    let key: String
    let compact: String

    var signature: String { compact.split(separator: ".").last.map(String.init) ?? "" }

    static let all = [
        // Appendix A.2.
        JWSExample(
            algorithm: "RS256",
            key: """
                {"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPME\
                zP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rex\
                MdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmou\
                dF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}
                """,
            compact: """
                eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb2\
                90Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2F\
                p5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0\
                GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs\
                98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw
                """),
        // Appendix A.3.
        JWSExample(
            algorithm: "ES256",
            key: """
                {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue6\
                59LNpXW6pCyStikYjKIWI5a0"}
                """,
            compact: """
                eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19\
                yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU\
                1Q
                """),
    ]
}
