import HTTP
import HTTPTypes

extension FuzzTarget {
    /// The request that a proxy asks about, a value a line in the order of `names`; a further line is a duplicate.
    static let original = FuzzTarget(name: "original", maximumLength: 512) { input throws(Finding) in
        var fields = HTTPFields()
        for (index, line) in input.split(separator: 10, omittingEmptySubsequences: false).enumerated() {
            guard !line.isEmpty, let name = HTTPField.Name(names[index % names.count]) else { continue }
            fields.append(HTTPField(name: name, value: String(decoding: line, as: UTF8.self)))
        }
        var target: [UInt8]?
        for style in [OriginalRequest.Style.forwarded, .original] {
            let distrusted = try? OriginalRequest(fields: fields, style: style, isFromTrustedProxy: false)
            try hold(
                distrusted != nil && distrusted?.host == nil && distrusted?.target == nil && distrusted?.method == nil,
                "an untrusted peer's word was taken")
            guard let request = try? OriginalRequest(fields: fields, style: style, isFromTrustedProxy: true) else {
                continue
            }
            try hold([nil, "http", "https"].contains(request.scheme), "scheme \(request.scheme ?? "")")
            if let host = request.host { try checkHost(host) }
            if request.targetFault == nil, let text = request.target {
                try checkTarget(text)
                target = Array(text.utf8.dropFirst())
            }
        }
        return target
    }

    private static let names = [
        "x-forwarded-proto", "x-forwarded-host", "x-forwarded-uri", "x-forwarded-method", "x-original-url",
        "x-original-uri", "x-original-method",
    ]

    private static func checkHost(_ host: String) throws(Finding) {
        let isPlain = host.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "-._~:[]".utf8.contains(byte)
        }
        try hold(isPlain && !host.isEmpty && !host.hasSuffix(":"), "host \(shown(host.utf8))")
    }

    private static func checkTarget(_ target: String) throws(Finding) {
        try hold(target.hasPrefix("/") && target.utf8.allSatisfy { (0x21...0x7E).contains($0) }, shown(target.utf8))
        let path = target.prefix { $0 != "?" }
        let decoded = decodingOnce(Array(path.utf8))
        let segments = decoded.split(separator: 47, omittingEmptySubsequences: false).map(Array.init)
        try hold(!segments.contains([46]) && !segments.contains([46, 46]), "a dot segment in \(shown(target.utf8))")
        try hold(decoded.allSatisfy { $0 >= 32 && $0 != 127 && $0 != 92 }, "hidden in \(shown(target.utf8))")
        let slashes = path.utf8.count { $0 == 47 }
        try hold(decoded.count { $0 == 47 } == slashes, "a hidden slash in \(shown(target.utf8))")
    }

    private static func decodingOnce(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var index = 0
        while index < text.count {
            let digits = text[index...].dropFirst().prefix(2)
            if text[index] == 37, digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                index += 3
            } else {
                bytes.append(text[index])
                index += 1
            }
        }
        return bytes
    }
}
