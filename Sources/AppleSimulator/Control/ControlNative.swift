import Coding

/// Sign-ins of apps through the control interface: what the system gives an app, in the terms of
/// `ASAuthorizationAppleIDCredential`.
extension Simulator {
    /// `POST /simulator/api/native`: the person taps the button in an app and agrees.
    func authorizeNative(_ body: JSON) throws(ControlError) -> JSON {
        for member in body.members where !Self.nativeMembers.contains(member.name) {
            throw .invalid("A native sign-in has no member \"\(member.name)\".")
        }
        guard let clientID = body["client_id"]?.stringValue else {
            throw .invalid("client_id, a bundle ID, is missing.")
        }
        let isApp = change { world, _ in world.client(clientID)?.isNative == true }
        guard isApp else { throw .unknown("There is no app \(clientID).") }
        let answer = try authorize(body)
        if let error = answer["error"] { return ["error": error] }
        var json: JSON = [:]
        json["identityToken"] = answer["id_token"]
        json["authorizationCode"] = answer["code"]
        json["state"] = answer["state"]
        guard let text = answer["user"]?.stringValue, let user = JSON(parsing: Array(text.utf8)) else { return json }
        if let name = user["name"] {
            var components: JSON = [:]
            components["givenName"] = name["firstName"]
            components["familyName"] = name["lastName"]
            json["fullName"] = components
        }
        json["email"] = user["email"]
        return json
    }

    private static let nativeMembers: Set = [
        "client_id", "person", "nonce", "scope", "state", "given_name", "family_name", "share_email", "decision",
    ]
}
