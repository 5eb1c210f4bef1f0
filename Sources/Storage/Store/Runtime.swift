package import Coding
package import Crypto
package import Logging

/// The clock, randomness and log of every part of a program. Tests replace them.
package struct Runtime: Sendable {
    package var clock: any WallClock
    package var random: any RandomSource
    package var logger: Logger

    package init(clock: any WallClock, random: any RandomSource, logger: Logger) {
        self.clock = clock
        self.random = random
        self.logger = logger
    }
}
