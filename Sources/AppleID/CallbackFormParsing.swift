import Accounts
import Coding
import Crypto

/// Parses the form that Apple posts to the redirect URI. It came through the browser: nothing in it is trusted yet.
enum CallbackFormParser {
    /// The largest body, in bytes. Generous, because a long name that percent-encoding triples must not break a login.
    static let maximumBodySize = 1_048_576
    static let maximumFields = 32
    /// The state is ours: a sealed attempt with its return target.
    static let maximumStateSize = 8192
    static let maximumCodeSize = 4096
    static let maximumTokenSize = 16_384
    static let maximumErrorSize = 256

    /// Our own field: this post was sent again from our origin. Any value counts, so that none causes a loop.
    static let repostField = "bramley_repost"

    static func parse(_ body: [UInt8]) throws(Failure) -> CallbackForm {
        let fields = try translating(
            try FormDecoder.parse(body, maximumBytes: maximumBodySize, maximumFields: maximumFields)
        ) { (error: FormError) in
            Failure(.malformedCallback, "not a form within its limits: \(error)")
        }
        var form = CallbackForm(isRepost: false)
        form.state = try single("state", in: fields, maximumSize: maximumStateSize)
        form.code = try single("code", in: fields, maximumSize: maximumCodeSize)
        form.identityToken = try single("id_token", in: fields, maximumSize: maximumTokenSize)
        form.error = try single("error", in: fields, maximumSize: maximumErrorSize)
        form.isRepost = try single(repostField, in: fields, maximumSize: maximumErrorSize, keepsEmpty: true) != nil
        if let user = try single("user", in: fields, maximumSize: maximumBodySize), let name = name(in: user) {
            form.name = name.isEmpty ? nil : name
            form.rawUser = user
        }
        return form
    }

    /// `sub` of an unverified token.
    static func claimedSubject(of token: String) -> AppleSubject? {
        guard let payload = (try? CompactJWS.parse(token))?.payload, let claims = try? JSONObject.claims(payload),
            let subject = claims["sub"]?.stringValue, !subject.isEmpty
        else { return nil }
        return AppleSubject(subject)
    }

    /// The only field with this name; nil when absent or empty.
    private static func single(
        _ name: String, in fields: [FormField], maximumSize: Int, keepsEmpty: Bool = false
    ) throws(Failure) -> String? {
        var value: String?
        for field in fields where field.name.isExactly(name) {
            guard value == nil else { throw Failure(.malformedCallback, "\(name) came twice") }
            guard field.value.utf8.count <= maximumSize else {
                throw Failure(.malformedCallback, "\(name) is too long")
            }
            value = field.value
        }
        return value == "" && !keepsEmpty ? nil : value
    }

    /// The largest `user` field that is parsed, in bytes; a larger one is not a name.
    static let maximumUserSize = 16_384

    /// The name in the `user` field of a first consent: `{"name":{"firstName","lastName"},"email"}`, unsigned, for display
    /// only. The address is ignored: only the identity token's counts.
    /// - Returns: nil when the text is not a JSON object within the limits; the sign-in continues without it.
    static func name(in user: String) -> PersonName? {
        guard user.utf8.count <= maximumUserSize else { return nil }
        let limits = JSONLimits(maximumBytes: maximumUserSize, maximumDepth: 8)
        guard let object = (try? JSONReader.parse(Array(user.utf8), limits: limits))?.objectValue else { return nil }
        let parts = object["name"]?.objectValue
        return PersonName(
            given: parts?["firstName"]?.stringValue.flatMap(DisplayName.sanitize),
            family: parts?["lastName"]?.stringValue.flatMap(DisplayName.sanitize))
    }
}

/// Makes one part of a name from a browser safe to show and store.
package enum DisplayName {
    /// The longest part kept, in characters (grapheme clusters), each of which may have any number of scalars.
    package static let maximumCharacters = 100
    package static let maximumScalars = 400

    /// Removes control characters, line separators, bidirectional overrides and other invisible format characters (the
    /// joiners U+200C and U+200D stay: Persian and Indic names need them), trims white space, and bounds the length;
    /// nil when nothing visible is left.
    package static func sanitize(_ text: String) -> String? {
        if let name = plain(text) { return name }
        var kept = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !isRemoved(scalar) { kept.append(scalar) }
        var name = trimmed(String(kept))[...]
        var scalars = 0
        var end = name.startIndex
        for (count, index) in name.indices.enumerated() {
            scalars += name[index].unicodeScalars.count
            guard count < maximumCharacters, scalars <= maximumScalars else { break }
            end = name.index(after: index)
        }
        name = name[..<end]
        let result = trimmed(String(name))
        return result.unicodeScalars.contains(where: isVisible) ? result : nil
    }

    /// A fast path for a short name of printable ASCII without surrounding blanks, which stays as it is; else nil.
    private static func plain(_ text: String) -> String? {
        let bytes = text.utf8.span
        guard (1...maximumCharacters).contains(bytes.count), bytes[0] != 0x20, bytes[bytes.count - 1] != 0x20 else {
            return nil
        }
        for index in bytes.indices where !(0x20...0x7E).contains(bytes[index]) { return nil }
        return text
    }

    private static func isRemoved(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: true
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        default: false
        }
    }

    /// Fillers, joiners and variation selectors (Unicode: "default ignorable") and the blank Braille pattern stay next
    /// to other letters, but are not a name by themselves: it would look empty.
    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        return !properties.isWhitespace && properties.generalCategory != .format
            && !properties.isDefaultIgnorableCodePoint && scalar != "\u{2800}"
    }

    private static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }
}
