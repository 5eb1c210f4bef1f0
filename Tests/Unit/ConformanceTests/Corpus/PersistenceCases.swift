/// Which connections stay: RFC 9112 §9.3, `Connection` RFC 9110 §7.6.1, `Upgrade` RFC 9110 §7.8.
enum PersistenceCases {
    static let all = onHTTP11 + onHTTP10 + upgrades

    /// A GET with this `Connection`, and one behind it that has to be served or not.
    private static func stays(_ value: String) -> WireCase {
        .heard("1.1 stays: \(value)", "9112 §9.3", Text.get("Connection: \(value)"), .get())
    }

    private static func closes(_ value: String) -> WireCase {
        .heard("1.1 closes: \(value)", "9112 §9.6", Text.get("Connection: \(value)"), .get(), then: .closed)
    }

    private static let onHTTP11: [WireCase] = [
        .heard("1.1 stays by itself", "9112 §9.3", Text.get("A: b"), .get()),
        stays("keep-alive"), stays("Keep-Alive"), stays(""), stays(","), stays(", ,"), stays("closed"), stays("xclose"),
        stays("not-close"), stays("a, keep-alive"), stays("TE"),
        closes("close"), closes("CLOSE"), closes("Close "), closes("close\t"), closes("close, keep-alive"),
        closes("keep-alive, close"), closes("a, close, b"), closes("a,close"), closes(", close"), closes("close,"),
        closes("close, close"),
        .heard(
            "1.1 closes: in a second line", "9112 §9.6", Text.get("Connection: keep-alive\r\nConnection: close"),
            .get(), then: .closed),
        .heard(
            "1.1 closes: in a first line", "9112 §9.6", Text.get("Connection: close\r\nConnection: keep-alive"), .get(),
            then: .closed),
        .heard(
            "1.1 closes behind content", "9112 §9.6", Text.post("Connection: close\r\nContent-Length: 3", "abc"),
            .post("abc"), then: .closed),
        .heard(
            "1.1 closes behind chunks", "9112 §9.6",
            Text.post("Connection: close\r\nTransfer-Encoding: chunked", "1\r\na\r\n0\r\n\r\n"), .post("a"),
            then: .closed),
        .heard(
            "what follows close is not looked at", "9112 §9.6", Text.get("Connection: close").then("INVALID\r\n\r\n"),
            .get(), then: .closed),
        .heard("Proxy-Connection is nothing", "9112 §C.2.2", Text.get("Proxy-Connection: close"), .get()),
        .heard("Keep-Alive is nothing", "9112 §C.2.2", Text.get("Keep-Alive: timeout=5, max=1"), .get()),
        .heard(
            "fields that Connection names stay", "9110 §7.6.1", Text.get("Connection: a\r\nA: b"),
            .get(fields: ["connection: a", "a: b"])),
        .heard("Host that Connection names stays", "9110 §7.6.1", Text.get("Connection: Host"), .get()),
        .heard(
            "a length that Connection names counts", "9110 §7.6.1",
            Text.post("Connection: Content-Length\r\nContent-Length: 3", "abc"), .post("abc")),
        .refused("two words", "9110 §7.6.1", Text.get("Connection: keep alive")),
        .refused("parameter", "9110 §7.6.1", Text.get("Connection: close;a=b")),
        .refused("quoted", "9110 §7.6.1", Text.get("Connection: \"close\"")),
        .refused("CR for a hyphen", "9112 §2.2", Text.get("Connection: keep\ralive")),
        .refused("folded", "9112 §5.2", Text.get("Connection: a,\r\n close")),
    ]

    private static let onHTTP10: [WireCase] = [
        .heard("1.0 closes by itself", "9112 §9.3", Text.get("A: b", version: "1.0"), old, then: .closed),
        .heard("1.0 stays: keep-alive", "9112 §9.3", Text.get("Connection: keep-alive", version: "1.0"), old),
        .heard(
            "1.0 stays: Keep-Alive in a list", "9112 §9.3", Text.get("Connection: a, Keep-Alive", version: "1.0"), old),
        .heard(
            "1.0 closes: keep-alive, close", "9112 §9.3", Text.get("Connection: keep-alive, close", version: "1.0"),
            old, then: .closed),
        .heard("1.0 closes: close", "9112 §9.3", Text.get("Connection: close", version: "1.0"), old, then: .closed),
        .heard(
            "1.0 closes: Proxy-Connection", "9112 §C.2.2", Text.get("Proxy-Connection: keep-alive", version: "1.0"),
            old, then: .closed),
        .heard(
            "1.0 closes: Keep-Alive", "9112 §C.2.2", Text.get("Keep-Alive: 300", version: "1.0"), old, then: .closed),
        .heard(
            "1.0 stays behind content", "9112 §9.3",
            Text.post("Connection: keep-alive\r\nContent-Length: 3", "abc", version: "1.0"),
            Understood("POST", version: "HTTP/1.0", body: "abc")),
        .heard(
            "1.0 has no content without a length", "9112 §6.3",
            Text.post("Connection: keep-alive", Text.smuggled, version: "1.0"),
            Understood("POST", version: "HTTP/1.0"), .get("/smuggled")),
        .heard(
            "1.0, then 1.1", "9112 §9.3", Text.get("Connection: keep-alive", version: "1.0").then(Text.get("A: b")),
            old, .get()),
    ]

    private static let old = Understood("GET", version: "HTTP/1.0")

    private static let upgrades: [WireCase] = [
        .heard(
            "h2c", "9110 §7.8",
            Text.get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__"), .get()),
        .heard(
            "h2c with content", "9113 §3.1",
            Text.post("Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3", "abc"), .post("abc")),
        .heard(
            "h2c, then a request", "9110 §7.8", Text.get("Connection: Upgrade\r\nUpgrade: h2c").then(Text.smuggled),
            .get(), .get("/smuggled")),
        .heard(
            "websocket", "9110 §7.8",
            Text.get(
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: YQ==\r\nSec-WebSocket-Version: 13"),
            .get()),
        .heard("TLS", "2817 §3.1", Text.get("Connection: Upgrade\r\nUpgrade: TLS/1.2"), .get()),
        .heard("protocol nobody knows", "9110 §7.8", Text.get("Connection: Upgrade\r\nUpgrade: pigeons/1.0"), .get()),
        .heard("without Connection", "9110 §7.8", Text.get("Upgrade: websocket"), .get()),
        .heard(
            "on 1.0", "9110 §7.8", Text.get("Connection: Upgrade\r\nUpgrade: h2c", version: "1.0"), old, then: .closed),
        .refusedBehind(
            .get(), "frames of HTTP/2 behind h2c", "9110 §7.8",
            Text.get("Connection: Upgrade\r\nUpgrade: h2c").then("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505),
    ]
}
