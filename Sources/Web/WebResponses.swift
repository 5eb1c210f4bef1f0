import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes
import Logging

/// Makes the responses of all routes: pages, redirects, JSON and failures, each with its security headers.
struct WebResponses: Sendable {
    let configuration: WebConfiguration
    let pages: Pages
    let policy: ContentSecurityPolicy
    let random: any RandomSource
    let logger: Logger
    /// Per reason 200 lines at once, then 10 a second: a cause that affects every request must not fill the log.
    private let failureLines = LogThrottle(burst: 200, interval: 100)
    private let stopwatch = Stopwatch()

    /// The language of the page for this request: `ui_locales` in its query, then `Accept-Language`.
    func locale(of request: ServerRequest) -> PageLocale {
        var asked: String?
        if request.query != nil, case .one(let text) = Query(request).value("ui_locales") { asked = text }
        return pages.choice.choose(uiLocales: asked, acceptLanguage: request.fields[.acceptLanguage])
    }

    /// The language in which a sign-in began, otherwise that of the request that ends it.
    func locale(begunIn language: String?, request: ServerRequest) -> PageLocale {
        if let tag = language.flatMap(pages.choice.offeredLocale) { return PageLocale(tag, isAskedFor: true) }
        return locale(of: request)
    }

    private func describe(_ locale: PageLocale, in fields: inout HTTPFields) {
        fields[.contentLanguage] = locale.tag
        if pages.locales.count > 1 { fields.append(HTTPField(name: .vary, value: "Accept-Language")) }
    }

    /// A page without scripts, unless `policy` says otherwise.
    func page(
        _ bytes: [UInt8], locale: PageLocale, status: HTTPResponse.Status = .ok, policy: String? = nil,
        referrer: SecurityHeaders.ReferrerPolicy = .noReferrer, fields: HTTPFields = HTTPFields()
    ) -> ServerResponse {
        var fields = fields
        fields[.contentType] = "text/html; charset=utf-8"
        describe(locale, in: &fields)
        SecurityHeaders.add(
            to: &fields, policy: policy ?? self.policy.plain, isSecure: self.policy.isSecure, referrer: referrer)
        return ServerResponse(status: status, fields: fields, body: .bytes(bytes))
    }

    func message(
        _ message: MessagePage, locale: PageLocale, status: HTTPResponse.Status = .ok, errorID: String? = nil,
        fields: HTTPFields = HTTPFields()
    ) -> ServerResponse {
        page(message.render(pages, locale: locale, errorID: errorID), locale: locale, status: status, fields: fields)
    }

    /// A page with scripts of its own.
    func scripted(
        _ template: String, locale: PageLocale, status: HTTPResponse.Status = .ok, _ values: PageValue
    ) -> ServerResponse {
        let nonce = Base64URL.encode(random.bytes(16))
        return page(
            pages.render(template, locale: locale, values.scripted(nonce)), locale: locale, status: status,
            policy: policy.scripted(nonce: nonce), referrer: .sameOrigin)
    }

    /// 303: the browser continues with a GET, whatever it sent (RFC 9110 §15.4.4).
    func redirect(to location: String) -> ServerResponse { empty(.seeOther, fields: [.location: location]) }

    /// A page that posts a form to an application at once (OAuth 2.0 Form Post Response Mode §2).
    func posting(_ fields: [FormField], to address: String) -> ServerResponse {
        let locale = pages.choice.choose(uiLocales: nil, acceptLanguage: nil)
        let nonce = Base64URL.encode(random.bytes(16))
        let values = PageValue.repost(fields: fields.map { ($0.name, $0.value) }, to: address).scripted(nonce)
        return page(
            pages.render("repost", locale: locale, values), locale: locale, policy: policy.posting(nonce: nonce))
    }

    func empty(_ status: HTTPResponse.Status, fields: HTTPFields = HTTPFields()) -> ServerResponse {
        var fields = fields
        SecurityHeaders.add(to: &fields, policy: policy.nothing, isSecure: policy.isSecure, referrer: .noReferrer)
        return ServerResponse(status: status, fields: fields)
    }

    func json(
        _ bytes: [UInt8], as type: String = "application/json", status: HTTPResponse.Status = .ok,
        fields: HTTPFields = HTTPFields()
    ) -> ServerResponse {
        var response = empty(status, fields: fields)
        response.fields[.contentType] = type
        response.body = .bytes(bytes)
        return response
    }

    /// One JSON object.
    func json(
        as type: String = "application/json", status: HTTPResponse.Status = .ok, fields: HTTPFields = HTTPFields(),
        _ write: (inout JSONWriter) -> Void
    ) -> ServerResponse {
        json(JSONWriter.object(reserving: 512, write), as: type, status: status, fields: fields)
    }

    /// The failure in its reader's form: a page for a visitor, RFC 9457 for others.
    func failure(
        _ failure: Failure, route: String, reader: RouteEntry.Reader, request: ServerRequest
    ) -> ServerResponse {
        let errorID = makeErrorID()
        log(failure, route: route, errorID: errorID)
        if case .program = reader { return problem(failure, errorID: errorID) }
        if case .client = reader { return providerError(failure) }
        let locale = locale(begunIn: failure.visit?.language, request: request)
        let message = MessagePage(failure, locale: locale, pages: pages, configuration: configuration)
        if case .proxy = reader { return throughProxy(message, failure, errorID: errorID, locale: locale, request) }
        return self.message(
            message, locale: locale, status: failure.answerStatus, errorID: failure.showsErrorID ? errorID : nil,
            fields: failure.fields
        ).setting(failure.visit?.cookies ?? [])
    }

    /// A failure that a proxy may pass on: for a visitor a page without other files, for a program a document or text.
    private func throughProxy(
        _ message: MessagePage, _ failure: Failure, errorID: String, locale: PageLocale, _ request: ServerRequest
    ) -> ServerResponse {
        guard Navigation.wantsPage(request.fields) else {
            let wantsJSON = (request.fields[.accept] ?? "").lowercased().contains("json")
            return wantsJSON ? problem(failure, errorID: errorID) : plain(message, failure, errorID, locale)
        }
        return standalone(
            message, locale: locale, status: failure.answerStatus, errorID: failure.showsErrorID ? errorID : nil,
            fields: failure.fields)
    }

    /// A page for another site's address, without any of our files; its form posts to us, and says from where.
    func standalone(
        _ message: MessagePage, locale: PageLocale, status: HTTPResponse.Status, errorID: String? = nil,
        fields: HTTPFields = HTTPFields()
    ) -> ServerResponse {
        page(
            message.absolute(configuration.publicURL).render(
                pages, locale: locale, errorID: errorID, template: "standalone"),
            locale: locale, status: status,
            policy: policy.standalone(styleHash: pages.inlineStyle.hash, origin: configuration.publicURL.origin),
            referrer: .strictOrigin, fields: fields)
    }

    /// For what the server refuses before it knows which page was wanted.
    func largeHeadPage() -> ServerResponse {
        let locale = pages.choice.choose(uiLocales: nil, acceptLanguage: nil)
        let strings = pages.strings(locale)
        let page = MessagePage(
            page: "large_head", strings,
            [MessagePage.home(strings, locale, configuration)] + MessagePage.help(strings, configuration))
        return standalone(page, locale: locale, status: .requestHeaderFieldsTooLarge)
    }

    private func plain(
        _ message: MessagePage, _ failure: Failure, _ errorID: String, _ locale: PageLocale
    ) -> ServerResponse {
        var fields = failure.fields
        fields[.contentType] = "text/plain; charset=utf-8"
        describe(locale, in: &fields)
        var response = empty(failure.answerStatus, fields: fields)
        var lines = [message.title, "", message.what, message.next]
        if failure.showsErrorID { lines.append("\(pages.strings(locale)["message.errorID"]) \(errorID)") }
        response.body = .bytes(Array((lines.joined(separator: "\n") + "\n").utf8))
        return response
    }

    /// RFC 9457.
    func problem(_ failure: Failure, errorID: String) -> ServerResponse {
        let strings = pages.strings(PageLocale(pages.locales.first ?? ""))
        let key =
            MessagePage.page(of: failure.code).map { "pages.\($0).title" } ?? "errors.\(failure.code.rawValue).title"
        return json(as: "application/problem+json", status: failure.answerStatus, fields: failure.fields) { writer in
            writer.member("type", "about:blank")
            writer.member("title", strings.has(key) ? strings[key] : failure.answerStatus.reasonPhrase)
            writer.member("status", Int64(failure.status))
            writer.member("code", failure.code.rawValue)
            if let explanation = failure.explanation { writer.member("detail", explanation) }
            writer.member("errorID", errorID)
            if let id = RequestID.current { writer.member("requestID", id.text) }
        }
    }

    /// RFC 6749 §5.2.
    private func providerError(_ failure: Failure) -> ServerResponse {
        let error = failure.providerError
        return json(status: failure.answerStatus, fields: failure.fields) { writer in
            writer.member("error", error.code.rawValue)
            writer.member("error_description", error.text)
        }
    }

    /// Logs a failure that a dedicated page reports to the visitor.
    func log(_ failure: Failure, route: String, errorID: String? = nil) {
        guard logger.logLevel <= failure.level else { return }
        var metadata: Logger.Metadata = [
            LogKey.reason: "\(failure.code.rawValue)", LogKey.route: "\(route)",
            LogKey.errorID: "\(errorID ?? makeErrorID())", LogKey.status: .stringConvertible(failure.status),
        ]
        if let detail = failure.detail { metadata[LogKey.detail] = "\(detail)" }
        if failure.level >= .warning {
            guard let count = failureLines.count(failure.code.rawValue, at: stopwatch.milliseconds) else { return }
            if count > 1 { metadata[LogKey.unlogged] = .stringConvertible(count - 1) }
        }
        logger.log(level: failure.level, "request failed", metadata: metadata)
    }

    /// Ten digits that a visitor can read out: `7F3A9-1C2D0`.
    private func makeErrorID() -> String {
        let digits = Hexadecimal.encode(random.bytes(5)).uppercased()
        return "\(digits.prefix(5))-\(digits.dropFirst(5))"
    }
}

enum LogKey {
    static let reason = "reason"
    static let detail = "detail"
    static let route = "route"
    static let errorID = "error_id"
    static let status = "status"
    static let method = "method"
    static let milliseconds = "ms"
    static let bytes = "bytes"
    static let client = "client"
    static let protocolVersion = "protocol"
    static let requestID = "request_id"
    static let unlogged = "unlogged"
}
