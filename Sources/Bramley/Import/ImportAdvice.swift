internal import Coding

/// What to check when no line of an import named anybody: looks at the first lines.
package struct ImportAdvice: Sendable {
    private static let lines = 20
    private let format: ImportFormat
    private var seen = 0
    private var isOneDocument = false
    private var isUTF16 = false
    private var other: ImportFormat?

    package init(_ format: ImportFormat) {
        self.format = format
    }

    /// - Parameter line: one that named nobody.
    package mutating func look(at line: [UInt8]) {
        guard seen < Self.lines else { return }
        seen += 1
        if line.starts(with: [0xFF, 0xFE]) || line.starts(with: [0xFE, 0xFF]) { isUTF16 = true }
        let blanks: [UInt8] = [0x20, 0x09, 0x0D]
        let text = line.filter { !blanks.contains($0) }
        // The first line of a document on several.
        if text == [UInt8(ascii: "{")] || text == [UInt8(ascii: "[")] { isOneDocument = true }
        let limits = JSONLimits(maximumBytes: LineReader.longestLine, maximumDepth: 32)
        guard let value = try? JSONReader.parse(line, limits: limits) else { return }
        guard let object = value.objectValue, object["users"]?.arrayValue == nil else {
            isOneDocument = true
            return
        }
        other = other ?? ImportFormat.allCases.first { $0 != format && $0.recognises(object) }
    }

    package mutating func lookAtLongLine() {
        if seen == 0 { isOneDocument = true }
        seen += 1
    }

    package var text: String {
        "nobody was recognised: "
            + (isUTF16 ? Self.encoding : isOneDocument ? oneDocument : other.map(otherProduct) ?? format.check)
    }

    private static let encoding = "the input is UTF-16, and must be UTF-8. Try iconv -f UTF-16 -t UTF-8 FILE"

    private var oneDocument: String {
        "the input seems to be one JSON document, and each line must be one person. "
            + "Try jq -c '.users[]' FILE (or '.[]' for a list) | bramley users import - --from \(format.rawValue)"
    }

    private func otherProduct(_ other: ImportFormat) -> String {
        "the lines seem to be of another product. Try --from \(other.rawValue)"
    }
}

extension ImportFormat {
    fileprivate func recognises(_ object: JSONObject) -> Bool {
        guard let layout else { return object["appleSubject"] != nil }
        return (try? layout.person(object)) != nil
    }

    /// What makes a sound export of this product name nobody.
    fileprivate var check: String {
        switch self {
        case .bramley: "each line needs appleSubject, or --from names the product that wrote it (docs/importing.md)"
        case .auth0: "does the export have the field identities, and people whose provider is apple?"
        case .firebase:
            "does providerUserInfo have entries of apple.com? firebase-tools before May 2026 leaves them out: update it "
                + "and export again"
        case .keycloak:
            "does the realm's export have its users with federatedIdentities, and is the alias of Apple's provider "
                + "apple?"
        case .supabase: "are the lines rows of auth.identities, some of the provider apple?"
        case .nextAuth: "are the lines rows of Account joined with User, some of the provider apple?"
        }
    }
}
