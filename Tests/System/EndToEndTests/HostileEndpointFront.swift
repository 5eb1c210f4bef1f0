import Foundation
import HTTP
import HTTPTypes
import Loops
import Sockets
import Synchronization

/// Stands where Apple's endpoints are: passes requests on to the simulator, or answers them with whatever bytes, pace
/// and certificate a test wants. It writes HTTP by hand, because what it must be able to send no server of ours sends.
final class HostileEndpointFront: Sendable {
    enum Behaviour: Sendable {
        case forward
        /// Passes on after that many milliseconds.
        case forwardAfter(Int64)
        /// Passes on, and closes after half of the answer.
        case halfOfForward
        /// These bytes, then a close.
        case bytes(String)
        /// These bytes, then nothing more, the connection held open.
        case stall(String)
        /// These bytes, then the same piece again and again until the client closes, with a pause in milliseconds.
        case repeating(String, piece: [UInt8], pause: Int64)

        static func answer(_ status: String, _ type: String, _ body: String, _ fields: String = "") -> Behaviour {
            .bytes(
                "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\n\(fields)Content-Length: \(body.utf8.count)\r\n"
                    + "Connection: close\r\n\r\n" + body)
        }

        /// Chunks of 64 KiB without end.
        static let endless = Behaviour.repeating(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
            piece: Array("10000\r\n".utf8) + [UInt8](repeating: UInt8(ascii: " "), count: 65_536) + Array("\r\n".utf8),
            pause: 0)
    }

    private struct State {
        var behaviours: [String: Behaviour] = [:]
        var codes: [String: Behaviour] = [:]
        var counts: [String: Int] = [:]
        var certificates: [String: TLSContext] = [:]
    }

    let origin: String
    private let simulator: String
    private let client: HTTPClient
    private let sockets: BoundSockets
    private let state = Mutex(State())

    /// - Parameters:
    ///   - certificate: https when there is one.
    init(simulator: RunningSimulator, on group: EventLoopGroup, certificate: TLSContext? = nil) throws {
        self.simulator = simulator.origin
        client = HTTPClient(group: group, tls: try TLSContext.client(), userAgent: "front")
        sockets = try BoundSockets.local(count: group.loops.count)
        let port = sockets.address.port
        origin = certificate == nil ? "http://127.0.0.1:\(port)" : "https://localhost:\(port)"
        if let certificate { state.withLock { $0.certificates["default"] = certificate } }
    }

    /// `/auth/keys` or `/auth/token`.
    func set(_ behaviour: Behaviour, for path: String) {
        state.withLock { $0.behaviours[path] = behaviour }
    }

    /// For the exchange of one code, whatever holds for the others.
    func set(_ behaviour: Behaviour, forCode code: String) {
        state.withLock { $0.codes[code] = behaviour }
    }

    func setCertificate(_ certificate: TLSContext) {
        state.withLock { $0.certificates["default"] = certificate }
    }

    /// Requests of this path that have arrived; `connections` counts connections.
    func count(_ path: String) -> Int {
        state.withLock { $0.counts[path] ?? 0 }
    }

    private func add(_ name: String) {
        state.withLock { $0.counts[name, default: 0] += 1 }
    }

    func listen(on loop: EventLoop) throws {
        _ = try Listener.start(
            sockets, on: loop, admission: AdmissionControl(maximum: 10_000, maximumPerAddress: 10_000))
    }

    // MARK: One connection, one request

    func serve(_ stream: SocketStream) async {
        stream.setDeadline(Deadline.now.adding(milliseconds: 60_000))
        defer { stream.close() }
        add("connections")
        if let certificate = state.withLock({ $0.certificates["default"] }) {
            guard (try? await stream.startTLS(certificate, serverName: nil)) != nil else { return }
        }
        guard let request = await Self.read(from: stream) else { return }
        add(request.path)
        let behaviour = state.withLock { state in
            for (code, behaviour) in state.codes where request.body.contains(code) { return behaviour }
            return state.behaviours[request.path] ?? .forward
        }
        try? await act(behaviour, request, on: stream)
        // So that the client reads what was sent before it learns of the close.
        stream.shutdownWrite()
    }

    private struct Request {
        var method: HTTPRequest.Method
        var path: String
        var fields: HTTPFields
        var body: String
    }

    private func act(_ behaviour: Behaviour, _ request: Request, on stream: SocketStream) async throws {
        switch behaviour {
        case .forward:
            try await stream.write(try await forward(request))
        case .forwardAfter(let milliseconds):
            guard await stream.loop.sleep(until: stream.loop.now.adding(milliseconds: milliseconds)) else { return }
            try await stream.write(try await forward(request))
        case .halfOfForward:
            let bytes = try await forward(request)
            try await stream.write(Array(bytes.prefix(bytes.count / 2)))
        case .bytes(let text):
            try await stream.write(Array(text.utf8))
        case .stall(let text):
            if !text.isEmpty { try await stream.write(Array(text.utf8)) }
            // Until the client gives up.
            var buffer = [UInt8](repeating: 0, count: 1024)
            while try await stream.read(into: &buffer, at: 0) > 0 {}
        case .repeating(let head, let piece, let pause):
            try await stream.write(Array(head.utf8))
            while true {
                try await stream.write(piece)
                if pause > 0 {
                    guard await stream.loop.sleep(until: stream.loop.now.adding(milliseconds: pause)) else { return }
                }
            }
        }
    }

    private func forward(_ request: Request) async throws -> [UInt8] {
        guard let url = ClientURL(simulator + request.path) else { return [] }
        let response = try await client.send(
            ClientRequest(method: request.method, url: url, fields: request.fields, body: Array(request.body.utf8)))
        let type = response.fields[.contentType] ?? "application/octet-stream"
        let head =
            "HTTP/1.1 \(response.status.code) -\r\nContent-Type: \(type)\r\nContent-Length: \(response.body.count)\r\n"
            + "Connection: close\r\n\r\n"
        return Array(head.utf8) + response.body
    }

    /// Requests come from our own client: a head, and a body of the length it says.
    private static func read(from stream: SocketStream) async -> Request? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n") {
                let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
                let start = lines[0].split(separator: " ")
                guard start.count == 3, let method = HTTPRequest.Method(rawValue: String(start[0])) else { return nil }
                var fields = HTTPFields()
                var length = 0
                for line in lines.dropFirst() {
                    guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon]))
                    else { continue }
                    let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                    if name == .contentLength { length = Int(value) ?? 0 }
                    if name == .contentType || name == .accept || name == .userAgent { fields[name] = value }
                }
                let body = text[end.upperBound...]
                if body.utf8.count >= length {
                    return Request(method: method, path: String(start[1]), fields: fields, body: String(body))
                }
            }
            guard let count = try? await stream.read(into: &buffer, at: 0), count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }
}

/// A simulator, and in front of it somebody hostile, and the configuration of a server that believes that to be Apple.
struct HostileEndpointScene: Sendable {
    let group: EventLoopGroup
    let place: ServerPlace
    let simulator: RunningSimulator
    let front: HostileEndpointFront

    func person(_ id: String) async throws -> TestPerson {
        let person = try await simulator.add(id)
        return person
    }
}

/// - Parameters:
///   - certificate: makes the front speak https with it.
///   - simulator: that of a scene around this one, to be shared.
func withHostileEndpoint(
    certificate: TLSContext? = nil, simulator shared: RunningSimulator? = nil,
    _ body: (HostileEndpointScene) async throws -> Void
) async throws {
    let place = try ServerPlace()
    let front = Mutex<HostileEndpointFront?>(nil)
    try await withLoops(
        isInner: shared != nil,
        servingWith: { _ in
            { stream in
                if let front = front.withLock({ $0 }) { await front.serve(stream) } else { stream.close() }
            }
        }
    ) { group in
        let simulator: RunningSimulator
        if let shared {
            simulator = shared
        } else {
            simulator = try await RunningSimulator.start(in: place.folder, keyPath: place.keyPath, on: group)
        }
        let hostile = try HostileEndpointFront(simulator: simulator, on: group, certificate: certificate)
        front.withLock { $0 = hostile }
        for loop in group.loops { loop.execute { try? hostile.listen(on: loop) } }
        try place.configure(apple: hostile.origin)
        try await body(HostileEndpointScene(group: group, place: place, simulator: simulator, front: hostile))
    }
}
