package import Logging

/// Placeholder of the wiring.
package enum Server {
    package static func run(configuration: Configuration, logger: Logger) async throws {
        logger.info("configured", metadata: ["publicURL": .string(configuration.publicURL.text)])
    }
}
