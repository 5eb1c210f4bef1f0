/// The four forms of the request target, RFC 9112 §3.2.
enum TargetCases {
    static let all = origin + absolute + otherForms

    private static let origin: [WireCase] = [
        .heard("path", "9112 §3.2.1", Text.line("GET /a/b HTTP/1.1"), .get("/a/b")),
        .heard("query", "9112 §3.2.1", Text.line("GET /a?b=c&d HTTP/1.1"), .get("/a?b=c&d")),
        .heard("empty query", "9112 §3.2.1", Text.line("GET /? HTTP/1.1"), .get("/?")),
        .heard("question marks in a query", "3986 §3.4", Text.line("GET /?a?b/c HTTP/1.1"), .get("/?a?b/c")),
        .heard("empty segments", "3986 §3.3", Text.line("GET //a//b/ HTTP/1.1"), .get("//a//b/")),
        .heard("dot segments are the handler's", "3986 §5.2.4", Text.line("GET /a/../b HTTP/1.1"), .get("/a/../b")),
        .heard(
            "every other pchar", "3986 §3.3", Text.line("GET /-._~!$&'()*+,;=:@ HTTP/1.1"), .get("/-._~!$&'()*+,;=:@")),
        .heard("escapes stay", "3986 §2.1", Text.line("GET /%2e%2E%2f%0d%0a%00 HTTP/1.1"), .get("/%2e%2E%2f%0d%0a%00")),
        .heard("escapes that are none stay", "3986 §2.1", Text.line("GET /%zz% HTTP/1.1"), .get("/%zz%")),
        .heard("colons in a path", "3986 §3.3", Text.line("GET /a:b:80 HTTP/1.1"), .get("/a:b:80")),
        .heard("a URL in a query", "3986 §3.4", Text.line("GET /?u=http://a@b/ HTTP/1.1"), .get("/?u=http://a@b/")),
        .heard(
            "what browsers leave raw in a query", "3986 §3.4", Text.line("GET /?{a|b}^`\\[] HTTP/1.1"),
            .get("/?{a|b}^`\\[]")),
        .refused("fragment", "9112 §3.2", Text.line("GET /a#b HTTP/1.1")),
        .refused("fragment behind a query", "9112 §3.2", Text.line("GET /?a#b HTTP/1.1")),
        .refused("space", "9112 §3.2", Text.line("GET /a b HTTP/1.1")),
        .refused("space in a query", "9112 §3.2", Text.line("GET /?a b HTTP/1.1")),
        .refused("NUL", "3986 §3.3", Text.line("GET /a\0 HTTP/1.1")),
        .refused("tab", "3986 §3.3", Text.line("GET /a\tb HTTP/1.1")),
        .refused("DEL", "3986 §3.3", Text.line("GET /a\u{7f} HTTP/1.1")),
        .refused("control in a query", "3986 §3.4", Text.line("GET /?\u{1b} HTTP/1.1")),
        .refused("obs-text", "3986 §3.3", Text.line("GET /\u{c3}\u{a9} HTTP/1.1")),
        .refused("overlong UTF-8", "3986 §3.3", Text.line("GET /\u{c0}\u{af} HTTP/1.1")),
        .refused("obs-text in a query", "3986 §3.4", Text.line("GET /?\u{e9} HTTP/1.1")),
        .refused("backslash", "3986 §3.3", Text.line("GET /a\\b HTTP/1.1")),
        .refused("angle brackets", "3986 §3.3", Text.line("GET /<a> HTTP/1.1")),
        .refused("quotation marks", "3986 §3.3", Text.line("GET /\"a\" HTTP/1.1")),
        .refused("braces in a path", "3986 §3.3", Text.line("GET /{a} HTTP/1.1")),
        .refused("caret in a path", "3986 §3.3", Text.line("GET /^ HTTP/1.1")),
        .refused("bar in a path", "3986 §3.3", Text.line("GET /| HTTP/1.1")),
        .refused("quotation marks in a query", "3986 §3.4", Text.line("GET /?\"a\" HTTP/1.1")),
        .refused("bare CR", "9112 §2.2", Text.line("GET /a\rb HTTP/1.1")),
        .refused("bare LF", "9112 §2.2", Text.line("GET /a\nb HTTP/1.1")),
        .refused("no slash", "9112 §3.2.1", Text.line("GET a HTTP/1.1")),
        .refused("query alone", "9112 §3.2.1", Text.line("GET ?a HTTP/1.1")),
        .refused("dot", "9112 §3.2.1", Text.line("GET . HTTP/1.1")),
        .refused("exclamation mark", "9112 §3.2.1", Text.line("GET ! HTTP/1.1")),
        .refused("escaped slash", "9112 §3.2.1", Text.line("GET %2fa HTTP/1.1")),
    ]

    private static let absolute: [WireCase] = [
        .heard("absolute", "9112 §3.2.2", Text.line("GET http://h/a?b HTTP/1.1"), .get("/a?b")),
        .heard("other authority than Host", "9112 §3.2.2", Text.line("GET http://a/ HTTP/1.1"), .get(host: "a")),
        .heard("authority with a port", "9112 §3.2.2", Text.line("GET http://a:8080/ HTTP/1.1"), .get(host: "a:8080")),
        .heard(
            "authority with an IPv6 address", "3986 §3.2.2", Text.line("GET http://[::1]:1/ HTTP/1.1"),
            .get(host: "[::1]:1")),
        .heard("no path", "9112 §3.2.1", Text.line("GET http://a HTTP/1.1"), .get(host: "a")),
        .heard("no path, but a query", "9112 §3.2.1", Text.line("GET http://a?b HTTP/1.1"), .get("/?b", host: "a")),
        .heard("scheme in upper case", "3986 §3.1", Text.line("GET HTTP://a/ HTTP/1.1"), .get(host: "a")),
        .heard(
            "slashes behind the authority", "3986 §3.3", Text.line("GET http://a//b HTTP/1.1"), .get("//b", host: "a")),
        .heard(
            "another URL in the path", "3986 §3.3", Text.line("GET http://a/http://b HTTP/1.1"),
            .get("/http://b", host: "a")),
        .heard(
            "no Host on 1.0", "9112 §3.2.2", "GET http://a/ HTTP/1.0\r\n\r\n",
            Understood("GET", host: "a", version: "HTTP/1.0"), then: .closed),
        .refused("no Host on 1.1", "9112 §3.2", "GET http://a/ HTTP/1.1\r\n\r\n"),
        .refused("bad Host beside it", "9112 §3.2", "GET http://a/ HTTP/1.1\r\nHost: b c\r\n\r\n"),
        .refused("two Hosts beside it", "9112 §3.2", "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
        .refused("https where there is no TLS", "9110 §7.4", Text.line("GET https://h/ HTTP/1.1"), 421),
        .refused("HTTPS where there is no TLS", "9110 §7.4", Text.line("GET HTTPS://h/ HTTP/1.1"), 421),
        .refused(
            "https with content", "9110 §7.4", "POST https://h/ HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\na", 421),
        .refused("user information", "9110 §4.2.4", Text.line("GET http://u@a/ HTTP/1.1")),
        .refused("user and password", "9110 §4.2.4", Text.line("GET http://u:p@a/ HTTP/1.1")),
        .refused("empty user information", "9110 §4.2.4", Text.line("GET http://@a/ HTTP/1.1")),
        .refused("no authority", "9110 §4.2.1", Text.line("GET http:///a HTTP/1.1")),
        .refused("nothing but a scheme", "9110 §4.2.1", Text.line("GET http:// HTTP/1.1")),
        .refused("port alone", "9110 §4.2.1", Text.line("GET http://:80/ HTTP/1.1")),
        .refused("port too large", "3986 §3.2.3", Text.line("GET http://a:65536/ HTTP/1.1")),
        .refused("port that is none", "3986 §3.2.3", Text.line("GET http://a:b/ HTTP/1.1")),
        .refused("one slash", "9112 §3.2.2", Text.line("GET http:/a HTTP/1.1")),
        .refused("no slashes", "9112 §3.2.2", Text.line("GET http:a HTTP/1.1")),
        .refused("fragment in absolute-form", "9112 §3.2.2", Text.line("GET http://a/#b HTTP/1.1")),
        .refused("backslash for a slash", "9112 §3.2.2", Text.line("GET http://a\\b/ HTTP/1.1")),
        .refused("comma in the authority", "3986 §3.2.2", Text.line("GET http://a,b/ HTTP/1.1")),
        .refused("IPv6 address unclosed", "3986 §3.2.2", Text.line("GET http://[::1/ HTTP/1.1")),
        .refused("other scheme", "9112 §3.2.2", Text.line("GET ftp://a/ HTTP/1.1")),
        .refused("file", "9112 §3.2.2", Text.line("GET file:///etc/passwd HTTP/1.1")),
        .refused("ws", "9112 §3.2.2", Text.line("GET ws://a/ HTTP/1.1")),
        .refused("scheme of one more letter", "9112 §3.2.2", Text.line("GET httpx://a/ HTTP/1.1")),
    ]

    private static let otherForms: [WireCase] = [
        .heard("asterisk", "9112 §3.2.4", Text.line("OPTIONS * HTTP/1.1"), Understood("OPTIONS", "*")),
        .heard(
            "last proxy's asterisk", "9112 §3.2.4", Text.line("OPTIONS http://a HTTP/1.1"),
            Understood("OPTIONS", "*", host: "a")),
        .heard(
            "OPTIONS with a path", "9112 §3.2.4", Text.line("OPTIONS http://a/ HTTP/1.1"),
            Understood("OPTIONS", "/", host: "a")),
        .heard(
            "OPTIONS with a query", "9112 §3.2.4", Text.line("OPTIONS http://a?b HTTP/1.1"),
            Understood("OPTIONS", "/?b", host: "a")),
        .refused("asterisk with GET", "9112 §3.2.4", Text.line("GET * HTTP/1.1")),
        .refused("asterisk with POST", "9112 §3.2.4", Text.line("POST * HTTP/1.1")),
        .refused("asterisk with options", "9112 §3.2.4", Text.line("options * HTTP/1.1")),
        .refused("asterisk with more", "9112 §3.2.4", Text.line("OPTIONS *a HTTP/1.1")),
        .refused("asterisk with a query", "9112 §3.2.4", Text.line("OPTIONS *?a HTTP/1.1")),
        .refused("two asterisks", "9112 §3.2.4", Text.line("OPTIONS ** HTTP/1.1")),
        .refused("authority with GET", "9112 §3.2.3", Text.line("GET h:80 HTTP/1.1")),
        .refused("authority with OPTIONS", "9112 §3.2.3", Text.line("OPTIONS h:80 HTTP/1.1")),
        .refused("address with GET", "9112 §3.2.3", Text.line("GET 127.0.0.1:80 HTTP/1.1")),
        .refused("CONNECT with an absolute target", "9112 §3.2.3", Text.line("CONNECT http://h/ HTTP/1.1"), 501),
        .refused("CONNECT to IPv6", "9112 §3.2.3", Text.line("CONNECT [::1]:443 HTTP/1.1"), 501),
        .refused("CONNECT without a port", "9112 §3.2.3", Text.line("CONNECT h HTTP/1.1"), 501),
    ]
}
