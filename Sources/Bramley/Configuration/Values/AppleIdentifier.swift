/// Our identifiers at Apple, and what is asked there.
enum AppleIdentifier {
    /// A Services ID or bundle ID, as Apple's portal admits it.
    static func client(_ text: String) throws(KeyFlaw) -> String {
        guard text.wholeMatch(of: /[A-Za-z0-9.-]*/) != nil, text.utf8.count <= 255 else {
            throw KeyFlaw("names \(text.quoted).", "Write letters, digits, - and . only, such as com.example.web.")
        }
        guard !text.split(separator: ".", omittingEmptySubsequences: false).contains(where: \.isEmpty) else {
            throw KeyFlaw(
                "names \(text.quoted), which has a dot at an end or two in a row.",
                "Write it as the portal shows it, such as com.example.web.")
        }
        guard text.contains(where: \.isLetter) else {
            throw KeyFlaw(
                "names \(text.quoted), which has no letter: that is at most an app's number in the App Store.",
                "Write the identifier as the portal shows it, such as com.example.web.")
        }
        // The portal shows App IDs as "A1B2C3D4E5.com.example.app (Prefix.Bundle ID)".
        if let match = text.prefixMatch(of: /[A-Z0-9]{10}\./) {
            throw KeyFlaw(
                "names \(text.quoted), which begins with a team's ID.",
                "Write \(String(text[match.range.upperBound...]).quoted), without the prefix.")
        }
        return text
    }

    static func team(_ text: String) throws(KeyFlaw) -> String {
        try tenCharacters(
            text, "a Team ID", "Copy it from Membership details in Apple's developer account, such as A1B2C3D4E5.")
    }

    static func key(_ text: String) throws(KeyFlaw) -> String {
        try tenCharacters(
            text, "a key ID", "Copy it from the name of the .p8 file: AuthKey_F6G7H8I9J0.p8 is F6G7H8I9J0.")
    }

    private static func tenCharacters(_ text: String, _ what: String, _ remedy: String) throws(KeyFlaw) -> String {
        guard text.wholeMatch(of: /[A-Z0-9]{10}/) != nil else {
            throw KeyFlaw("is \(text.quoted), but \(what) is ten capitals and digits.", remedy)
        }
        return text
    }

    /// What people may be asked for.
    static func scope(_ text: String) throws(KeyFlaw) -> String {
        guard text == "name" || text == "email" else {
            throw KeyFlaw("names \(text.quoted).", "Apple knows \"name\" and \"email\" only; [] asks for neither.")
        }
        return text
    }
}
