import HTTP
import HTTPTypes
package import RelyingParty

/// The words of `DeviceDescription` for the operator, in English: what the person reads on the account page.
package struct DeviceNames: Sendable {
    private let strings: Strings?

    package init() {
        strings = try? Strings(locale: "en", files: PageFiles(overrides: [:]), fallback: nil, values: [:])
    }

    package func text(of session: Session) -> String { DeviceDescription.text(of: session, strings: strings) }
}

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
        let names = names(of: session.device.userAgent)
        switch (names.browser, names.system) {
        case (let browser?, let system?):
            return strings?.text("account.on", ["browser": browser, "system": system]) ?? browser
        case (let name?, nil), (nil, let name?): return name
        case (nil, nil): return strings?["account.unknownDevice"] ?? ""
        }
    }

    /// Browser and platform of a `User-Agent`; nil for what it does not say clearly. Names of products, in no language.
    static func names(of agent: String) -> (browser: String?, system: String?) {
        // Whoever says to be a robot may say anything else too.
        let lower = agent.lowercased()
        if robots.contains(where: lower.contains) { return (nil, nil) }
        var browser = first(of: browsers, in: agent)
        var system = first(of: systems, in: agent)
        if system == "Mac", appleMobileBrowsers.contains(where: agent.contains) {
            // These exist on iPhone and iPad alone; asked for the desktop's page, they say to be a Mac. Safari on an
            // iPad does so too and cannot be told apart.
            system = "iPad"
        }
        if browser == "Safari" || (browser == "Chrome" && agent.contains("; wv)")) {
            // Android's and WebKitGTK's own views borrow the name; a view inside an app is the app's.
            let isApples = system == "iPhone" || system == "iPad" || system == "iPod" || system == "Mac"
            if !(isApples && agent.contains("Version/")) { browser = nil }
        }
        return (browser, system)
    }

    private static func first(of marks: [(mark: String, name: String)], in agent: String) -> String? {
        marks.first { agent.contains($0.mark) }?.name
    }

    // Order matters: almost everyone claims to be Chrome, and everyone to be Safari.
    private static let browsers: [(mark: String, name: String)] = [
        // Views inside apps name the app beside the browser they are made of.
        ("Instagram ", "Instagram"), ("FBAN/", "Facebook"), ("FBAV/", "Facebook"), ("FB_IAB/", "Facebook"),
        ("MicroMessenger/", "WeChat"), (" Line/", "LINE"), ("GSA/", "Google"), ("LinkedInApp", "LinkedIn"),
        ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("Edge/", "Edge"),
        ("OPR/", "Opera"), ("OPT/", "Opera"), ("OPiOS/", "Opera"), ("Opera/", "Opera"), ("Vivaldi/", "Vivaldi"),
        ("YaBrowser/", "Yandex"), ("DuckDuckGo/", "DuckDuckGo"), ("Ddg/", "DuckDuckGo"),
        ("SamsungBrowser/", "Samsung Internet"), ("HuaweiBrowser/", "Huawei Browser"), ("UCBrowser/", "UC Browser"),
        ("MiuiBrowser/", "Mi Browser"), ("Silk/", "Silk"), ("Focus/", "Firefox Focus"), ("Klar/", "Firefox Focus"),
        ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"), ("Chromium/", "Chromium"),
        ("HeadlessChrome/", "Chrome"), ("Chrome/", "Chrome"), ("Epiphany/", "GNOME Web"), ("Safari/", "Safari"),
        ("curl/", "curl"), ("Wget/", "Wget"), ("python-requests/", "Python"), ("Python-urllib/", "Python"),
    ]
    private static let systems: [(mark: String, name: String)] = [
        ("iPhone", "iPhone"), ("iPad", "iPad"), ("iPod", "iPod"), ("Android", "Android"), ("CrOS ", "ChromeOS"),
        ("Windows NT", "Windows"), ("Macintosh", "Mac"), ("FreeBSD", "FreeBSD"), ("Linux", "Linux"),
    ]
    private static let appleMobileBrowsers = ["CriOS/", "FxiOS/", "EdgiOS/", "OPiOS/", "OPT/"]
    private static let robots = ["bot/", "bot;", "bot)", "crawler", "spider", "facebookexternalhit", "+http"]
}
