/// What SIGHUP asks for: the configuration is read once more, and of it the keys Apple knows us by and the certificate.
struct OperatorReload: Sendable {
    /// What the configuration is read from.
    let input: ConfigurationInput
    let appleKeys: AppleKeyReload
    /// Nil: the server speaks plain HTTP.
    let certificate: CertificateReload?

    func reload() {
        let glance = certificate?.glance()
        do throws(ConfigurationFailure) {
            let loaded = try ConfigurationLoader.load(input)
            appleKeys.take(loaded)
            if let certificate, let glance { certificate.take(loaded.configuration, since: glance) }
        } catch {
            appleKeys.refuse(error)
            // A mistake elsewhere is no reason to serve a certificate that runs out.
            certificate?.lookNow()
        }
    }
}
