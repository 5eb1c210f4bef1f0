import Accounts
import Coding

/// A validated `return_to` and `error_return`: as given, to be passed on, and their targets.
struct ReturnWish: Sendable {
    /// Nil when none was given.
    var text: String?
    var target: ReturnTarget
    /// Where a sign-in that is cancelled at Apple leads; nil shows a page of ours.
    var errorReturn: ReturnTarget?

    init(text: String?, target: ReturnTarget) {
        self.text = text
        self.target = target
    }

    /// What a sign-in that is cancelled leads to; nil: a page of ours.
    var cancelled: String? { (errorReturn ?? target.cancelReturn)?.cancelled }

    /// - Throws: when one of them is repeated, or is not allowed.
    init(_ query: Query, among targets: ReturnTargets) throws(WebFailure) {
        switch query.value("return_to") {
        case .absent, .one(""): (text, target) = (nil, targets.defaultTarget)
        case .several: throw .badRequest("return_to is given more than once")
        case .one(let text):
            guard let target = targets.validate(text) else { throw WebFailure(.returnToRefused) }
            (self.text, self.target) = (text, target)
        }
        switch query.value("error_return") {
        case .absent, .one(""): errorReturn = nil
        case .several: throw .badRequest("error_return is given more than once")
        case .one(let text):
            guard let target = targets.validate(errorReturn: text) else { throw WebFailure(.returnToRefused) }
            // Together they would not fit into a state; a program is told anyway.
            errorReturn = self.target.isAuthorizeRequest ? nil : target
        }
    }

    /// `return_to=…`, even without a target, and `error_return=…` if given: what pages pass on.
    var query: String { Self.query(text, errorReturn) }

    static func query(_ returnTo: String?, _ errorReturn: ReturnTarget?) -> String {
        let rest = errorReturn.map { "&error_return=" + PercentEncoding.encodeComponent($0.location) } ?? ""
        return "return_to=" + PercentEncoding.encodeComponent(returnTo ?? "") + rest
    }
}
