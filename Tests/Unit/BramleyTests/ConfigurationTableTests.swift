import Testing

@testable import Bramley

struct ConfigurationTableTests {
    /// Every key that a release has promised; the table may know more, never fewer.
    static let designed = """
        publicURL access.signUp server.host server.port server.threads server.certificateFile server.privateKeyFile \
        server.redirectPort server.trustedProxies server.proxyProtocol server.drainTimeout server.limits.requestLine \
        server.limits.headerBlock server.limits.fieldCount server.limits.body server.limits.connections \
        server.limits.connectionsPerAddress server.limits.headerTimeout server.limits.bodyTimeout \
        server.limits.writeTimeout server.limits.idleTimeout server.limits.credentialChecks admin.host admin.port apple.servicesID apple.bundleIDs \
        apple.teamID apple.keyID apple.privateKeyFile apple.nextKeyID apple.nextPrivateKeyFile apple.scopes \
        apple.issuers apple.endpoint apple.scriptURL apple.nativeNonce apple.onAccountDeleted login.mode \
        login.allowedReturnOrigins login.defaultReturnTo login.attemptLifetime login.passwordURL forwardAuth.style \
        forwardAuth.rulesFile button.color button.type button.mode button.border button.borderRadius button.width \
        button.height button.size button.logoSize button.logoPosition button.labelPosition site.name site.logo \
        site.privacyURL site.termsURL site.supportURL site.homeURL site.logoFile site.accentColor pages.directory pages.locales sessions.lifetime sessions.idleTimeout \
        sessions.cookieDomain storage.directory secrets.sealingKeyFile secrets.previousSealingKeyFiles \
        api.allowedOrigins webhooks.url webhooks.secretFile webhooks.events assertion.audience retention.events \
        retention.notifications retention.audit log.level log.format
        """.split(separator: " ").map(String.init)

    @Test(arguments: designed)
    func hasEveryKeyOfTheDesign(name: String) {
        #expect(ConfigurationTable.byName[name] != nil)
    }

    @Test func noSpellingMeansTwoKeys() {
        let keys = ConfigurationTable.keys
        #expect(Set(keys.map(\.name)).count == keys.count)
        #expect(Set(keys.map(\.environmentName)).count == keys.count)
        #expect(Set(keys.map(\.flagName)).count == keys.count)
        #expect(ConfigurationTable.groups.isDisjoint(with: keys.map(\.name)))
    }

    @Test(arguments: [
        ("publicURL", "BRAMLEY_PUBLIC_URL", "--public-url"),
        ("apple.servicesID", "BRAMLEY_APPLE_SERVICES_ID", "--apple-services-id"),
        ("apple.bundleIDs", "BRAMLEY_APPLE_BUNDLE_IDS", "--apple-bundle-ids"),
        (
            "server.limits.connectionsPerAddress", "BRAMLEY_SERVER_LIMITS_CONNECTIONS_PER_ADDRESS",
            "--server-limits-connections-per-address"
        ),
    ])
    func spellsNamesForEnvironmentAndFlags(name: String, environment: String, flag: String) throws {
        let key = try #require(ConfigurationTable.byName[name])
        #expect(key.environmentName == environment)
        #expect(key.flagName == flag)
    }

    @Test(arguments: ConfigurationTable.keys.map(\.name).filter { $0.contains("File") })
    func everyFileKeyHasAnInlineTwin(name: String) throws {
        let key = try #require(ConfigurationTable.byName[name])
        let twin = try #require(key.twin.flatMap { ConfigurationTable.byName[$0] })
        #expect(twin.name == name.replacing("File", with: ""))
        #expect(twin.twin == name)
        #expect(!key.isSecret)
    }

    @Test func everyKeyIsReadAndNoOther() throws {
        let fixture = ConfigurationFixture()
        let path = try fixture.write(fixture.configuration(), to: "config.json")
        let builder = ConfigurationLoader.builder(ConfigurationInput(path: path))
        _ = builder.build()
        #expect(Set(builder.readings.keys) == Set(ConfigurationTable.keys.map(\.name)))
    }
}
