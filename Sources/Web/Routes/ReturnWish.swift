import Coding
import RelyingParty

/// A validated `return_to`, and `error_return` beside it: as they came, to be carried on, and where they lead.
struct ReturnWish: Sendable {
    /// Nil when nothing was asked for.
    var text: String?
    var target: ReturnTarget
    /// Where a sign-in that is cancelled at Apple leads; nil shows a page of ours.
    var errorReturn: ReturnTarget?

    init(text: String?, target: ReturnTarget) {
        self.text = text
        self.target = target
    }

    /// - Throws: when one of them is given twice, or names nothing of ours.
    init(_ query: Query, among targets: ReturnTargets) throws(WebFailure) {
        switch query.value("return_to") {
        case .absent, .one(""): (text, target) = (nil, targets.defaultTarget)
        case .several: throw .badRequest("return_to is given more than once")
        case .one(let text):
            guard let target = targets.validate(text) else { throw .returnToRefused }
            (self.text, self.target) = (text, target)
        }
        switch query.value("error_return") {
        case .absent, .one(""): errorReturn = nil
        case .several: throw .badRequest("error_return is given more than once")
        case .one(let text):
            guard let target = targets.validate(errorReturn: text) else { throw .returnToRefused }
            errorReturn = target
        }
    }

    /// `return_to=…`, also without a target, and `error_return=…` where there is one: what pages hand on.
    var query: String { Self.query(text, errorReturn) }

    static func query(_ returnTo: String?, _ errorReturn: ReturnTarget?) -> String {
        let rest = errorReturn.map { "&error_return=" + PercentEncoding.encodeComponent($0.location) } ?? ""
        return "return_to=" + PercentEncoding.encodeComponent(returnTo ?? "") + rest
    }
}
