import RelyingParty

extension ConfigurationBuilder {
    func retention() -> RetentionPolicy? {
        let events = values.integer("retention.events")
        let notifications = values.integer("retention.notifications")
        let audit = values.integer("retention.audit")
        guard let events, let notifications, let audit else { return nil }
        return RetentionPolicy(events: Int64(events), notifications: Int64(notifications), audit: Int64(audit))
    }
}
