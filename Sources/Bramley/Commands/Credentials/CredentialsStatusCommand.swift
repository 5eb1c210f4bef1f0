internal import Accounts
import ArgumentParser
internal import Coding
internal import Storage

/// `bramley credentials status`
struct CredentialsStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the state of the daily checks at Apple.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let now = place.now
            let status = try await place.database.checkStatus(place.configuration.checkScope, at: now)
            if output.json {
                try CommandOutput.json { CheckStatusDocument.write(status, to: &$0) }
                return
            }
            try show(status)
        }
    }

    private func show(_ status: CheckStatus) throws {
        let style = CommandOutput.tableStyle
        var fields: [(String, String?)] = [
            ("checks", status.word), ("live", String(status.live)), ("due", String(status.due)),
            ("dueSince", status.dueSince?.shown(style)), ("lastHourAlive", String(status.alive)),
            ("lastHourDead", String(status.dead)), ("heldBack", String(status.heldBack)),
            ("stoppedAt", status.gate.brake?.since.shown(style)),
            ("stoppedBy", status.gate.brake.map { "\($0.dead) dead of \($0.checks)" }),
            ("wavesAcceptedUntil", status.acceptsUntil?.shown(style)),
        ]
        for pause in status.gate.pauses {
            fields.append(
                (
                    "refused",
                    "\(pause.clientID.rawValue) since \(pause.since.shown(style)): \(pause.detail); next attempt "
                        + pause.nextTryAt.shown(style)
                ))
        }
        try CommandOutput.table(
            TextTable([.init(""), .init("", flexible: true)], rows: fields.map { [$0.0, $0.1] }))
        if status.gate.brake != nil {
            CommandOutput.hint("A wave stopped the checks. Read docs/operations/jobs.md before you resume them.")
        }
        if !status.gate.pauses.isEmpty {
            CommandOutput.hint("Apple refuses this server: look at apple.keyID, its .p8, apple.teamID and the client.")
        }
    }
}

extension CheckStatus {
    /// The state in one word.
    var word: String {
        if gate.brake != nil { return "stopped" }
        return gate.pauses.isEmpty ? "running" : "refused"
    }
}

/// The daily checks as JSON.
enum CheckStatusDocument {
    static func write(_ status: CheckStatus, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("checks", status.word)
        writer.member("live", Int64(status.live))
        writer.member("due", Int64(status.due))
        writer.member("dueSince", status.dueSince)
        writer.member("lastHourAlive", Int64(status.alive))
        writer.member("lastHourDead", Int64(status.dead))
        writer.member("heldBack", Int64(status.heldBack))
        writer.name("brake")
        if let brake = status.gate.brake {
            writer.beginObject()
            writer.member("since", brake.since)
            writer.member("dead", Int64(brake.dead))
            writer.member("checks", Int64(brake.checks))
            writer.endObject()
        } else {
            writer.writeNull()
        }
        writer.member("wavesAcceptedUntil", status.acceptsUntil)
        writer.name("refused")
        writer.beginArray()
        for pause in status.gate.pauses {
            writer.beginObject()
            writer.member("clientID", pause.clientID.rawValue)
            writer.member("since", pause.since)
            writer.member("nextAttemptAt", pause.nextTryAt)
            writer.member("attempts", Int64(pause.attempts))
            writer.member("detail", pause.detail)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}
