import Testing

@testable import Accounts
@testable import Web

@Suite struct DeviceDescriptionTests {
    private static let webKit = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
    private static let blink = "AppleWebKit/537.36 (KHTML, like Gecko)"
    private static let iPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) \(webKit)"
    private static let iPad = "Mozilla/5.0 (iPad; CPU OS 17_6 like Mac OS X) \(webKit)"
    private static let mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"
    private static let windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
    private static let android = "Mozilla/5.0 (Linux; Android 10; K)"

    static let agents: [(String, String?, String?)] = [
        ("\(iPhone) Version/18.1 Mobile/15E148 Safari/604.1", "Safari", "iPhone"),
        ("\(iPhone) CriOS/130.0.6723.90 Mobile/15E148 Safari/604.1", "Chrome", "iPhone"),
        ("\(iPhone) FxiOS/132.0 Mobile/15E148 Safari/605.1.15", "Firefox", "iPhone"),
        ("\(iPhone) Version/18.0 EdgiOS/130.0.2849.80 Mobile/15E148 Safari/604.1", "Edge", "iPhone"),
        ("\(iPhone) Version/17.0 Mobile/15E148 Safari/604.1 OPT/4.7.0", "Opera", "iPhone"),
        ("\(iPhone) Version/18.1 Mobile/15E148 Safari/604.1 Ddg/18.1", "DuckDuckGo", "iPhone"),
        ("\(iPhone) GSA/340.3.6 Mobile/15E148 Safari/604.1", "Google", "iPhone"),
        // Views inside apps: the app, or the device alone.
        ("\(iPhone) Mobile/22B83 Instagram 354.0.0.29.90 (iPhone14,5; iOS 18_1; de_DE; de)", "Instagram", "iPhone"),
        ("\(iPhone) Mobile/22B83 [FBAN/FBIOS;FBAV/489.0.0.43.104;FBBV/657;FBDV/iPhone14,5]", "Facebook", "iPhone"),
        ("\(iPhone) Mobile/15E148 MicroMessenger/8.0.53(0x18003531) NetType/WIFI Language/zh_CN", "WeChat", "iPhone"),
        ("\(iPhone) Mobile/15E148 Safari Line/14.16.0", "LINE", "iPhone"),
        ("\(iPhone) Mobile/15E148", nil, "iPhone"),
        ("\(iPad) Version/17.6 Mobile/15E148 Safari/604.1", "Safari", "iPad"),
        ("\(iPad) CriOS/130.0.6723.90 Mobile/15E148 Safari/604.1", "Chrome", "iPad"),
        // An iPad that asks for the desktop's page says Macintosh: only what exists on no Mac gives it away.
        ("\(mac) \(webKit) CriOS/130 Version/17.6 Safari/605.1.15", "Chrome", "iPad"),
        ("\(mac) \(webKit) FxiOS/132.0 Safari/605.1.15", "Firefox", "iPad"),
        ("\(mac) \(webKit) Version/18.1 Safari/605.1.15", "Safari", "Mac"),
        ("\(mac) \(blink) Chrome/130.0.0.0 Safari/537.36", "Chrome", "Mac"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox", "Mac"),
        ("\(mac) \(blink) Chrome/129.0.0.0 Safari/537.36 Edg/129.0.0.0", "Edge", "Mac"),
        ("\(windows) \(blink) Chrome/130.0.0.0 Safari/537.36", "Chrome", "Windows"),
        ("\(windows) \(blink) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0", "Edge", "Windows"),
        ("\(windows) \(blink) Chrome/64.0.3282.140 Safari/537.36 Edge/18.17763", "Edge", "Windows"),
        ("\(windows) \(blink) Chrome/129.0.0.0 Safari/537.36 OPR/115.0.0.0", "Opera", "Windows"),
        ("\(windows) \(blink) Chrome/130.0.0.0 Safari/537.36 Vivaldi/7.0", "Vivaldi", "Windows"),
        ("\(windows) \(blink) Chrome/128.0.0.0 YaBrowser/24.10.0.0 Safari/537.36", "Yandex", "Windows"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox", "Windows"),
        ("Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko", nil, "Windows"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox", "Linux"),
        ("Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox", "Linux"),
        ("Mozilla/5.0 (X11; Linux x86_64) \(blink) Chrome/130.0.0.0 Safari/537.36", "Chrome", "Linux"),
        ("Mozilla/5.0 (X11; Linux x86_64) \(webKit) Version/16.0 Safari/605.1.15", nil, "Linux"),
        ("Mozilla/5.0 (X11; Linux x86_64) \(webKit) Version/16.0 Safari/605.1.15 Epiphany/605", "GNOME Web", "Linux"),
        ("Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) \(blink) Chrome/130.0.0.0 Safari/537.36", "Chrome", "ChromeOS"),
        ("Mozilla/5.0 (X11; FreeBSD amd64; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox", "FreeBSD"),
        ("\(android) \(blink) Chrome/130.0.0.0 Mobile Safari/537.36", "Chrome", "Android"),
        ("Mozilla/5.0 (Android 14; Mobile; rv:132.0) Gecko/132.0 Firefox/132.0", "Firefox", "Android"),
        (
            "\(android) \(blink) SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36", "Samsung Internet",
            "Android"
        ),
        ("\(android) \(blink) Chrome/129.0.0.0 Mobile Safari/537.36 EdgA/129.0.0.0", "Edge", "Android"),
        ("\(android) \(blink) Chrome/129.0.0.0 Mobile Safari/537.36 OPR/85.0.0.0", "Opera", "Android"),
        (
            "Mozilla/5.0 (Linux; Android 14; SM-S911B; wv) \(blink) Version/4.0 Chrome/130.0.0.0 Mobile Safari/537.36",
            nil, "Android"
        ),
        (
            "Mozilla/5.0 (Linux; U; Android 4.0.3; de-de) AppleWebKit/534.30 Version/4.0 Mobile Safari/534.30", nil,
            "Android"
        ),
        ("curl/8.9.1", "curl", nil),
        ("Wget/1.24.5", "Wget", nil),
        ("python-requests/2.32.3", "Python", nil),
        // Robots say to be anything: none of it is believed.
        (
            "\(android) \(blink) Chrome/130.0.6723.69 Mobile Safari/537.36 "
                + "(compatible; Googlebot/2.1; +http://www.google.com/bot.html)", nil, nil
        ),
        ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", nil, nil),
        ("facebookexternalhit/1.1", nil, nil),
        ("", nil, nil),
        ("Mozilla/5.0", nil, nil),
        ("<script>alert(1)</script>", nil, nil),
        (String(repeating: "?", count: 256), nil, nil),
    ]

    @Test("Browser and platform are read from real User-Agent fields", arguments: agents)
    func names(_ agent: String, browser: String?, system: String?) {
        let names = DeviceDescription.names(of: agent)
        #expect(names.browser == browser)
        #expect(names.system == system)
    }
}
