package import Accounts
import HTTP
import HTTPTypes

/// The browser or app of a session, in words its owner recognises.
package enum DeviceDescription {
    /// For the operator: in English, as on the account page.
    package static func english() -> @Sendable (Session) -> String {
        let strings = try? Strings(locale: "en", files: PageFiles(overrides: [:]), fallback: nil, values: [:])
        return { session in strings.map { text(of: session, strings: $0) } ?? "" }
    }

    /// What is stored about a request's origin: at most 256 bytes of printable text, and the client's address.
    static func device(of request: ServerRequest) -> Device {
        let agent = (request.fields[.userAgent] ?? "").utf8.prefix(256).map { (0x20...0x7E).contains($0) ? $0 : 0x3F }
        return Device(userAgent: String(decoding: agent, as: UTF8.self), address: "\(request.client)")
    }

    /// `Safari on iPhone`. Only the most common are recognised; the rest is "unknown", never a guess.
    static func text(of session: Session, strings: Strings) -> String {
        if session.kind == .native { return strings["account.app"] }
        return text(of: session.device, strings: strings) ?? strings["account.unknownDevice"]
    }

    static func text(of device: Device, strings: Strings) -> String? {
        let names = names(of: device.userAgent)
        guard let browser = names.browser, let system = names.system else { return names.browser ?? names.system }
        return strings.text("account.on", ["browser": browser, "system": system])
    }

    /// Browser and platform of a `User-Agent`; nil where it is unclear. Product names, in no language.
    static func names(of agent: String) -> (browser: String?, system: String?) {
        let bytes = Array(agent.utf8)
        // A robot may claim to be anything else too.
        let lower = bytes.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
        if robots.contains(where: { holds(lower, $0) }) { return (nil, nil) }
        var browser = first(of: browsers, in: bytes)
        var system = first(of: systems, in: bytes)
        if system == "Mac", appleMobileBrowsers.contains(where: { holds(bytes, $0) }) {
            // These exist only on iPhone and iPad; when they request the desktop page, they claim to be a Mac. Safari
            // on an iPad does so too and cannot be recognised.
            system = "iPad"
        }
        if browser == "Safari" || (browser == "Chrome" && holds(bytes, webView)) {
            // Android's and WebKitGTK's own views use the name; a view inside an app belongs to the app.
            let isApples = system == "iPhone" || system == "iPad" || system == "iPod" || system == "Mac"
            if !(isApples && holds(bytes, version)) { browser = nil }
        }
        return (browser, system)
    }

    private static func first(of marks: [(mark: [UInt8], name: String)], in agent: [UInt8]) -> String? {
        marks.first { holds(agent, $0.mark) }?.name
    }

    /// By bytes: a String's `contains` takes ten microseconds, and fifty marks are looked for in each row of a list.
    private static func holds(_ agent: [UInt8], _ mark: [UInt8]) -> Bool {
        agent.indices.dropLast(mark.count - 1).contains { start in
            agent[start] == mark[0] && agent[start...].starts(with: mark)
        }
    }

    private static func marks(_ names: [(String, String)]) -> [(mark: [UInt8], name: String)] {
        names.map { (Array($0.utf8), $1) }
    }

    private static let (webView, version) = (Array("; wv)".utf8), Array("Version/".utf8))

    // Order matters: almost all claim to be Chrome, and all claim to be Safari.
    private static let browsers = marks([
        // Views inside apps name the app besides their browser.
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
    ])
    private static let systems = marks([
        ("iPhone", "iPhone"), ("iPad", "iPad"), ("iPod", "iPod"), ("Android", "Android"), ("CrOS ", "ChromeOS"),
        ("Windows NT", "Windows"), ("Macintosh", "Mac"), ("FreeBSD", "FreeBSD"), ("Linux", "Linux"),
    ])
    private static let appleMobileBrowsers = ["CriOS/", "FxiOS/", "EdgiOS/", "OPiOS/", "OPT/"].map { Array($0.utf8) }
    private static let robots = [
        "bot/", "bot;", "bot)", "crawler", "spider", "facebookexternalhit", "+http",
    ].map { Array($0.utf8) }
}
