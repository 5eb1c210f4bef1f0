import Hummingbird

/// Replace it with your own sessions.
actor Sessions {
    private var people: [String: Person] = [:]

    func begin(_ person: Person) -> String {
        let token = randomText()
        people[token] = person
        return token
    }

    func person(_ request: Request) -> Person? { request.cookies["session"].flatMap { people[$0.value] } }
}

let bramley = Bramley()
let sessions = Sessions()
let router = Router()

func cookie(_ name: String, _ value: String, maxAge: Int? = nil) -> Cookie {
    Cookie(name: name, value: value, maxAge: maxAge, path: "/", secure: true, httpOnly: true, sameSite: .lax)
}

router.get("/") { request, _ -> Response in
    guard let person = await sessions.person(request) else { return .redirect(to: "/login") }
    return Response(status: .ok, body: .init(byteBuffer: .init(string: "Hello, \(person.name ?? person.sub.value)")))
}

router.get("/login") { _, _ -> Response in
    let attempt = Attempt()
    var response = Response.redirect(to: bramley.authorizeURL(attempt))
    response.setCookie(cookie("attempt", attempt.cookie, maxAge: 900))
    return response
}

router.get("/callback") { request, _ -> Response in
    let answer = request.uri.queryParameters
    // Such as "Cancel" at Apple.
    if let error = answer["error"] { throw HTTPError(.unauthorized, message: "Nobody signed in: \(error)") }
    guard let code = answer["code"], let state = answer["state"], let kept = request.cookies["attempt"]?.value,
        let attempt = Attempt(kept)
    else { throw HTTPError(.badRequest) }
    let person = try await bramley.complete(attempt, state: String(state), code: String(code))
    var response = Response.redirect(to: "/")
    response.setCookie(cookie("session", await sessions.begin(person)))
    response.setCookie(cookie("attempt", "", maxAge: 0))
    return response
}

try await Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 3000))).runService()
