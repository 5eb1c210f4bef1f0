import HTTP
import HTTPTypes

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
