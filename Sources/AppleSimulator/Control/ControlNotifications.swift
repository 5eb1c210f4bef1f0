import Coding
import HTTP
import HTTPTypes

extension Simulator {
    /// `POST /simulator/api/notifications`: creates one, and delivers it as often as requested.
    func notify(_ body: JSON) async throws(ControlError) -> JSON {
        let copies = body["copies"]?.integer ?? 1
        guard (0...100).contains(copies) else { throw .invalid("copies must be a whole number from 0 to 100.") }
        let sent = try change { world, moment throws(ControlError) in
            let (order, team) = try Self.order(body, in: world, at: moment)
            let sent = order.made(with: world.keys.signing, at: moment)
            world.notifications.append(sent)
            if body["effect"]?.boolValue ?? true { world.apply(order, team: team) }
            world.journal.record("\(order.type) created", endpoint: "notifications", at: moment)
            return sent
        }
        guard body["deliver"]?.boolValue ?? true else { return sent.json }
        for _ in 0..<copies { _ = try await deliver(sent.id) }
        return notification(sent.id)?.json ?? sent.json
    }

    /// Delivers a notification again, or for the first time: in any order, any number of times.
    func deliver(_ id: String) async throws(ControlError) -> JSON {
        guard let sent = notification(id) else { throw .unknown("There is no notification \(id).") }
        guard let transport else { throw .invalid("This simulator has no HTTP client to deliver with.") }
        guard let url = change({ world, _ in world.notificationURL }).flatMap({ ClientURL($0) }) else {
            throw .invalid("There is no notification URL.")
        }
        let fields: HTTPFields = [.contentType: "application/json", .userAgent: "apple-simulator"]
        let body: JSON = ["payload": .string(sent.payload)]
        var status: Int?
        var failure: String?
        do {
            status = try await transport.send(
                ClientRequest(method: .post, url: url, fields: fields, body: body.bytes)
            ).status.code
        } catch {
            failure = "\(error)"
            if case .tls = error { failure? += ". For a certificate of your own, start with --trust FILE." }
        }
        change { world, moment in
            guard let index = world.notifications.lastIndex(where: { $0.id == id }) else { return }
            world.notifications[index].deliveries.append(
                ["time": .integer(moment.milliseconds), "status": .count(status), "failure": .text(failure)])
            world.journal.record(
                "\(sent.type) delivered: \(status.map(String.init) ?? failure ?? "")", endpoint: "notifications",
                at: moment)
        }
        return notification(id)?.json ?? sent.json
    }

    private func notification(_ id: String) -> SentNotification? {
        change { world, _ in world.notifications.last { $0.id == id } }
    }

    private static func order(
        _ body: JSON, in world: World, at moment: Moment
    ) throws(ControlError) -> (NotificationOrder, team: String) {
        guard let type = body["type"]?.stringValue else { throw .invalid("type is missing.") }
        // Apple names an App ID as the audience; without one, the Services ID.
        let audience = body["aud"]?.stringValue ?? world.clients.first(where: \.isNative)?.id ?? world.clients.first?.id
        let team = world.client(audience ?? "")?.team ?? world.teams.first?.id ?? ""
        let person = body["person"]?.stringValue.flatMap(world.person)
        guard let subject = body["sub"]?.stringValue ?? person?.subject(team: team) else {
            throw .unknown("There is no such person; name person or sub.")
        }
        var order = NotificationOrder(
            type: type, subject: subject, person: person?.id, audience: audience ?? "",
            eventTime: body["eventTime"]?.integer ?? moment.milliseconds + (body["eventOffset"]?.integer ?? 0) * 1000)
        if type.hasPrefix("email-"), let person {
            order.address = person.relayAddress(team: team)
            order.isPrivate = true
        }
        if let form = body["events"]?.stringValue {
            guard let form = NotificationOrder.Form(rawValue: form) else {
                throw .invalid("events must be string or object.")
            }
            order.form = form
        }
        if let unit = body["unit"]?.stringValue {
            guard let unit = NotificationOrder.Unit(rawValue: unit) else {
                throw .invalid("unit must be milliseconds or seconds.")
            }
            order.unit = unit
        }
        order.id = body["jti"]?.stringValue
        order.claims = body["claims"]?.objectValue ?? [:]
        order.event = body["event"]?.objectValue ?? [:]
        order.header = body["header"]?.objectValue ?? [:]
        return (order, team)
    }
}
