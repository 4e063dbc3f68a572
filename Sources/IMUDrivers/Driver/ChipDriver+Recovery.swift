internal import MotionCore

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Starts the FIFO again after its content was lost; the stream goes on with a gap. `event` is what samples of the same
    /// poll have already told.
    mutating func interrupt(_ fault: IMUFault, after event: IMUPoll.Event = .none) throws(IMUFault) -> IMUPoll {
        status.lastFault = fault
        switch fault {
        case .overflow: status.overflows += 1
        case .misaligned: status.misalignments += 1
        default: break
        }
        interruptionsInARow += 1
        guard interruptionsInARow < StreamLimits.interruptionLimit else { throw fault }
        interruption = fault
        try startFIFO()
        return IMUPoll(next: nextLook(), event: event)
    }

    /// Gives the present attempt up; the chip is brought up from the start after a pause, each longer than the last.
    mutating func recover(from fault: IMUFault) -> IMUPoll {
        status.state = .recovering
        status.lastFault = fault
        forgetStream()
        deadline = clock.now().advanced(bySeconds: backOff)
        backOff = min(2 * backOff, DriverTiming.lastBackOff)
        // Told once, and again only if something else is wrong now.
        let isNews = outage != fault
        outage = fault
        return IMUPoll(next: deadline, event: isNews ? .failed(fault) : .none)
    }

    /// Forgets what no longer holds once the chip is not sampling any more.
    mutating func forgetStream() {
        estimator.restart()
        interruption = nil
        interruptionsInARow = 0
        unevenPolls = 0
        awaitedStep = nil
        repetitions = 0
        heldFrames = 0
        lastFrame = nil
        lastTemperature = nil
    }
}
