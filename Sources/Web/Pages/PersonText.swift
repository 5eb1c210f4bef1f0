import Accounts
import Coding

enum PersonText {
    /// Their name, otherwise their address, otherwise nil.
    static func displayName(of user: User) -> String? { user.name.full ?? user.email?.address }

    /// The same for a person who is asked whether they have an account.
    static func displayName(of person: WaitingPerson) -> String? {
        person.name?.full ?? person.email?.address
    }

    /// Name and address: distinguishes two accounts of one person.
    static func accountName(of user: User) -> String? {
        guard let name = user.name.full else { return displayName(of: user) }
        guard let address = user.email?.address, !address.isEmpty else { return name }
        return "\(name) (\(address))"
    }
}

extension PageValue {
    static func person(_ user: User, strings: Strings) -> PageValue {
        let display = PersonText.displayName(of: user) ?? strings["account.someone"]
        let email = user.email.flatMap { $0.address.isEmpty ? nil : $0 }
        return [
            "displayName": .text(display),
            "initials": .text(initials(of: user, display)),
            "name": .optional(user.name.full),
            "email": .optional(email?.address),
            "isUnverified": .flag(email.map { !$0.isVerified } ?? false),
            "isPrivate": .flag(email?.isPrivate ?? false),
            "forwardingOff": .flag(email?.isPrivate == true && user.emailForwarding == false),
            "createdAt": .moment(user.createdAt), "credential": credential(of: user, strings: strings),
        ]
    }

    /// The person's consent at Apple, in words, and since when, if known.
    private static func credential(of user: User, strings: Strings) -> PageValue {
        let state = user.credential.state.rawValue
        return [
            "state": .text(strings["account.credential.\(state)"]),
            "isAuthorized": .flag(user.credential.state == .authorized),
            "hasTime": .flag(user.credential.changedAt != nil),
            "changedAt": .moment(user.credential.changedAt ?? user.createdAt),
        ]
    }

    /// Two letters in place of a picture.
    private static func initials(of user: User, _ display: String) -> String {
        let letters = [user.name.given, user.name.family].compactMap { $0?.first { $0.isLetter } }
        let chosen = letters.isEmpty ? display.first { $0.isLetter || $0.isNumber }.map { [$0] } ?? [] : letters
        return String(chosen).uppercased()
    }

    /// A session as its owner sees it.
    static func session(_ session: Session, current: SessionID, strings: Strings) -> PageValue {
        let device = DeviceDescription.text(of: session, strings: strings)
        return [
            "id": .text(session.id.rawValue),
            "device": .text(device),
            "endLabel": .text(strings.text("account.endSessionOf", ["device": device])),
            "address": .text(session.device.address),
            "isCurrent": .flag(session.id == current),
            "createdAt": .moment(session.createdAt), "lastSeenAt": .moment(session.lastSeenAt),
        ]
    }

    /// A time for `<time>`: for programs, and in words for a browser without scripts.
    static func moment(_ moment: Timestamp) -> PageValue {
        let text = moment.rfc3339
        let day = String(text.prefix(10))
        return [
            "machine": .text(text), "day": .text(day), "minute": .text("\(day) \(text.dropFirst(11).prefix(5)) UTC"),
        ]
    }
}
