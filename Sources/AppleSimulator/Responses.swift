import Coding
import HTTP
import HTTPTypes

extension ServerResponse {
    static func json(_ value: JSON, status: HTTPResponse.Status = .ok) -> ServerResponse {
        let fields: HTTPFields = [.contentType: "application/json;charset=UTF-8", .cacheControl: "no-store"]
        return ServerResponse(status: status, fields: fields, body: .bytes(value.bytes))
    }

    static func oauthError(_ error: OAuthError, describes: Bool) -> ServerResponse {
        var json: JSON = ["error": .string(error.code)]
        if describes, let description = error.description { json["error_description"] = .string(description) }
        return .json(json, status: .badRequest)
    }

    /// A page. It does not restrict forms: the form_post goes to whatever site asked, which may redirect.
    static func html(_ html: String, status: HTTPResponse.Status = .ok) -> ServerResponse {
        let fields: HTTPFields = [
            .contentType: "text/html;charset=UTF-8", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                + "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
        ]
        return ServerResponse(status: status, fields: fields, body: .bytes(Array(html.utf8)))
    }

    static func file(
        _ bytes: [UInt8], type: String, status: HTTPResponse.Status = .ok, isCached: Bool = false
    ) -> ServerResponse {
        let fields: HTTPFields = [
            .contentType: type, .cacheControl: isCached ? "public, max-age=3600" : "no-cache",
            .xContentTypeOptions: "nosniff",
        ]
        return ServerResponse(status: status, fields: fields, body: .bytes(bytes))
    }

    static func redirect(to location: String) -> ServerResponse {
        ServerResponse(status: .seeOther, fields: [.location: location, .cacheControl: "no-store"])
    }

    static func methodNotAllowed(_ allowed: String) -> ServerResponse {
        ServerResponse(status: .methodNotAllowed, fields: [.allow: allowed])
    }

    static var notFound: ServerResponse {
        .html(
            Page.shell(title: "Not found", body: "<h1>Not found</h1><p>There is nothing at this address.</p>"),
            status: .notFound)
    }
}

/// Everything that is not an endpoint of Apple's: the steps of the sign-in page, the control page and its interface.
extension Simulator {
    func page(_ request: ServerRequest) async -> ServerResponse {
        switch request.path {
        case "/": return .redirect(to: "/simulator")
        case "/auth/authorize/person":
            return request.method == .post ? choosePerson(request) : .methodNotAllowed("POST")
        case "/auth/authorize/consent": return request.method == .post ? decide(request) : .methodNotAllowed("POST")
        case "/simulator": return .html(Page.controls)
        case "/simulator/assets/simulator.css":
            return .file(PackageResources.simulator_css, type: "text/css;charset=UTF-8")
        case "/simulator/assets/deliver.js":
            return .file(PackageResources.deliver_js, type: "text/javascript;charset=UTF-8")
        case "/simulator/assets/control.js":
            return .file(PackageResources.control_js, type: "text/javascript;charset=UTF-8")
        default:
            guard request.path.hasPrefix("/simulator/api/") else { return .notFound }
            return await control(request)
        }
    }
}
