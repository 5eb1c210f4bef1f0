import Accounts
import Coding

extension PageValue {
    /// The page on which a device's code is entered.
    static func device(_ code: DeviceUserCode?, isWrong: Bool = false) -> PageValue {
        ["device": ["code": .optional(code?.text), "isWrong": .flag(isWrong)]]
    }

    /// The page on which a person allows a device's request: that of other applications, with where it came from.
    ///
    /// - Parameters:
    ///   - device: that asked.
    ///   - ticket: in its field of the form.
    ///   - target: where another account continues.
    static func device(
        code: String, on device: Device, scopes: [OpenIDScope], services: [Service], of client: OpenIDClient,
        for user: User, ticket: FormField, target: String?, strings: Strings
    ) -> PageValue {
        let fields = [FormField(name: "user_code", value: code), ticket]
        let description = DeviceDescription.text(of: device, strings: strings)
        let place = device.address + (description.map { " (\($0))" } ?? "")
        return consent(
            to: client, at: nil, scopes: scopes, services: services, of: user, fields: fields, target: target,
            strings: strings
        ).merging([
            "consent": [
                "heading": .text(strings.text("device.asks", ["program": PlainLine.shown(client.name)])),
                "place": strings.html(
                    // Not broken at its hyphen.
                    "device.place", ["code": code.replacing("-", with: "\u{2011}"), "place": place]),
                "program": .text(strings["device.warning"]), "isDevice": true,
            ]
        ])
    }
}
