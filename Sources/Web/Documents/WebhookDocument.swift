package import Accounts
package import Coding

extension WebhookEndpoint {
    package enum State: String, Sendable, CaseIterable {
        case ok, failing, paused, stopped
    }

    /// The state in one word.
    package func state(at now: Timestamp) -> State {
        if stoppedAt != nil { return .stopped }
        if let pausedUntil, now < pausedUntil { return .paused }
        return failingSince == nil ? .ok : .failing
    }
}

/// The webhook queue as JSON: for the API and for commands.
package enum WebhookDocument {
    /// Who reads a document: it decides how much of a failure is told.
    package enum Reader: Sendable {
        case `operator`, api

        fileprivate func told(_ reason: String) -> String {
            switch self {
            case .operator: reason
            case .api: WebhookVerdict.outward(reason)
            }
        }
    }

    /// - Parameter kinds: what is sent there; nil when the configuration no longer contains the endpoint.
    package static func write(
        _ endpoint: WebhookEndpoint, kinds: Set<JournalEntry.Kind>?, at now: Timestamp, for reader: Reader,
        to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("url", WebhookEndpoint.name(of: endpoint.url))
        writer.member("state", endpoint.state(at: now).rawValue)
        let kinds = WebhookEndpoint.client(of: endpoint.url) == nil ? kinds : [.sessionEnded]
        writer.name("events")
        writer.beginArray()
        for kind in JournalEntry.Kind.allCases where kinds?.contains(kind) == true { writer.write(kind.rawValue) }
        writer.endArray()
        writer.member("addedAt", endpoint.addedAt)
        writer.member("waiting", Int64(endpoint.backlog))
        writer.member("oldest", endpoint.oldest)
        writer.member("deadLetters", Int64(endpoint.deadLetters))
        writer.member("lastSuccessAt", endpoint.lastSuccessAt)
        writer.member("lastFailureAt", endpoint.lastFailureAt)
        writer.member("lastFailure", endpoint.lastFailure.map(reader.told))
        writer.member("failingSince", endpoint.failingSince)
        writer.member("pausedUntil", endpoint.pausedUntil)
        writer.member("stoppedAt", endpoint.stoppedAt)
        writer.endObject()
    }

    package static func write(_ letter: DeadWebhook, for reader: Reader, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("url", WebhookEndpoint.name(of: letter.url))
        writer.member("id", letter.entry.id.rawValue)
        writer.member("type", letter.entry.kind.rawValue)
        writer.member("time", letter.entry.time)
        writer.member("user", letter.entry.user.rawValue)
        writer.member("attempts", Int64(letter.attempts))
        writer.member("failure", reader.told(letter.failure))
        writer.member("diedAt", letter.diedAt)
        writer.endObject()
    }

    /// The result of a test event: `delivered`, the answer's `status` if there was one, and otherwise the reason.
    package static func write(
        _ result: WebhookTestResult, to url: String, for reader: Reader, to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("url", WebhookEndpoint.name(of: url))
        writer.member("id", result.id.rawValue)
        writer.name("delivered")
        writer.write(result.verdict == .delivered)
        writer.member("status", result.status.map(Int64.init))
        writer.member("failure", result.failure.map(reader.told))
        writer.member("milliseconds", result.milliseconds)
        writer.endObject()
    }
}

extension WebhookTestResult {
    /// Why the receiver did not accept it, such as `status 500` or `connection refused`; nil when it did.
    package var failure: String? {
        switch verdict {
        case .delivered: nil
        case .gone: "status 410"
        case .failed(let reason, _), .refused(let reason): reason
        case .abandoned: "the server is stopping"
        }
    }
}
