internal import HTTPTypes
internal import Logging
internal import Sockets

/// What ends by the clock, and how a connection ends gracefully.
extension HTTP2Connection {
    /// How long a client may take to acknowledge our GOAWAY, in milliseconds.
    private static let shutdownNotice: Int64 = 1000

    /// Adds a time at which to check the clock.
    func update(_ deadline: Deadline) {
        guard deadline < nearest else { return }
        nearest = deadline
        stream.setDeadline(deadline)
    }

    func updateAll() {
        nearest = .never
        update(writeDeadline)
        update(frameDeadline)
        update(drainDeadline)
        for stream in streams.values { update(stream.deadline) }
        updateIdle()
        if nearest == .never { stream.setDeadline(.never) }
    }

    /// Counted from the last request, as between two requests of HTTP/1.1: a PING keeps nothing alive.
    func updateIdle() {
        if isIdle { update(idleSince.adding(milliseconds: timeouts.idle)) }
    }

    private var isIdle: Bool { streams.isEmpty && running == 0 && output.isEmpty && frameDeadline == .never }

    /// Does what is due, and sets the next deadline.
    func expire() {
        let now = stream.loop.now
        let wasShutDown = hasShutDown
        if writeDeadline <= now { return abort() }
        if frameDeadline <= now {
            frameDeadline = .never
            let code = session.gate.isStarted ? HTTP2ErrorCode.enhanceYourCalm : .settingsTimeout
            session.fail(HTTP2Failure(code, "a frame came too slowly"))
        }
        if drainDeadline <= now { finishShutdown() }
        for stream in streams.values where stream.deadline <= now {
            if stream.leftToDiscard != nil {
                stream.deadline = .never
                session.reset(stream.id, .noError)
            } else if !stream.isAnswered {
                refuse(stream, status: .requestTimeout, reason: "the content came too slowly")
            } else if stream.hasProgressed {
                expectProgress(of: stream)
            } else {
                server.logger.debug("response not read by the client", metadata: ["reason": "window"])
                stream.deadline = .never
                session.resetFaulty(stream.id, .cancel)
            }
        }
        if isIdle, idleSince.adding(milliseconds: timeouts.idle) <= now {
            // The client knew of the end and nothing is in flight, so it is over; anything left has had its time.
            if wasShutDown { return abort() }
            finishShutdown()
        }
        updateAll()
    }

    func abort() {
        isDead = true
        stream.abandon()
    }

    // MARK: Shutdown, RFC 9113 §6.8

    func beginShutdown() {
        guard !hasAnnouncedShutdown else { return }
        hasAnnouncedShutdown = true
        stream.endsReadOnDrain = false
        session.announceShutdown()
        // A client that does not answer the PING has had its time.
        drainDeadline = deadline(after: Self.shutdownNotice)
        update(drainDeadline)
    }

    func finishShutdown() {
        drainDeadline = .never
        guard !hasShutDown else { return }
        hasShutDown = true
        session.shutDown()
    }
}
