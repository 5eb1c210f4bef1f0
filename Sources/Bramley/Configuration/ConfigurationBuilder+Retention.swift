import RelyingParty

extension ConfigurationBuilder {
    func retention() -> RetentionPolicy? {
        let events = values.integer("retention.events")
        let notifications = values.integer("retention.notifications")
        guard let events, let notifications else { return nil }
        return RetentionPolicy(events: Int64(events), notifications: Int64(notifications))
    }
}
