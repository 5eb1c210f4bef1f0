import Vapor

func configure(_ app: Application) async throws {
    app.sessions.configuration = SessionsConfiguration(cookieName: "session") { id, _ in
        HTTPCookies.Value(string: id.string, isSecure: true, isHTTPOnly: true, sameSite: .lax)
    }
    app.middleware.use(app.sessions.middleware)

    let bramley = Bramley()

    app.get { request -> Response in
        guard let sub = request.session.data["sub"] else { return request.redirect(to: "/login") }
        return Response(body: .init(string: "Hello, \(request.session.data["name"] ?? sub)"))
    }

    app.get("login") { request -> Response in
        let attempt = Attempt()
        request.session.data["attempt"] = attempt.cookie
        return request.redirect(to: bramley.authorizeURL(attempt))
    }

    app.get("callback") { request -> Response in
        // Such as "Cancel" at Apple.
        if let error = request.query[String.self, at: "error"] {
            throw Abort(.unauthorized, reason: "Nobody signed in: \(error)")
        }
        guard let code = request.query[String.self, at: "code"], let state = request.query[String.self, at: "state"],
            let attempt = request.session.data["attempt"].flatMap({ Attempt($0) })
        else { throw Abort(.badRequest) }
        let person = try await bramley.complete(attempt, state: state, code: code)
        // A new session, against session fixation.
        request.destroySession()
        request.session.data["sub"] = person.sub.value
        request.session.data["name"] = person.name
        return request.redirect(to: "/")
    }
}
