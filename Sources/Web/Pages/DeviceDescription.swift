import HTTP
import HTTPTypes
import RelyingParty

/// The browser or app behind a session, in words its owner recognises.
enum DeviceDescription {
    /// What is stored of a request's origin: at most 256 bytes of printable text, and the client's address.
    static func device(of request: ServerRequest) -> Device {
        let agent = (request.fields[.userAgent] ?? "").utf8.prefix(256).map { (0x20...0x7E).contains($0) ? $0 : 0x3F }
        return Device(userAgent: String(decoding: agent, as: UTF8.self), address: "\(request.client)")
    }

    /// `Safari on iPhone`. Only the commonest are told apart; the rest is "unknown", never a guess.
    static func text(of session: Session, strings: Strings?) -> String {
        if session.kind == .native { return strings?["account.app"] ?? "" }
        let agent = session.device.userAgent
        let browser = first(of: browsers, in: agent)
        let system = first(of: systems, in: agent)
        switch (browser, system) {
        case (let browser?, let system?):
            return strings?.text("account.on", ["browser": browser, "system": system]) ?? browser
        case (let name?, nil), (nil, let name?): return name
        case (nil, nil): return strings?["account.unknownDevice"] ?? ""
        }
    }

    private static func first(of marks: [(mark: String, name: String)], in agent: String) -> String? {
        marks.first { agent.contains($0.mark) }?.name
    }

    // Order matters: almost everyone claims to be Chrome, and everyone to be Safari.
    private static let browsers: [(mark: String, name: String)] = [
        ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"),
        ("Chrome/", "Chrome"), ("Chromium/", "Chromium"), ("Safari/", "Safari"), ("curl/", "curl"),
    ]
    private static let systems: [(mark: String, name: String)] = [
        ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS"),
        ("Windows", "Windows"), ("Macintosh", "Mac"), ("Linux", "Linux"),
    ]
}
