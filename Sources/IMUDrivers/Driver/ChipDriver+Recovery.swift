internal import MotionCore

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Starts the FIFO again after its content was lost; the stream goes on with a gap. `event` is what samples of the same
    /// poll have already told.
    mutating func interrupt(_ fault: IMUFault, after event: SensorEvent = .none) throws(IMUFault) -> IMUPoll {
        status.lastFault = fault
        switch fault {
        case .overflow: status.overflows += 1
        case .misaligned: status.misalignments += 1
        default: break
        }
        guard recovery.interrupt(by: fault) else { throw fault }
        try startFIFO()
        return IMUPoll(next: nextLook(), event: event)
    }

    /// Gives the present attempt up; the chip is brought up from the start after a pause, each longer than the last.
    mutating func recover(from fault: IMUFault) -> IMUPoll {
        status.state = .recovering
        status.lastFault = fault
        forgetStream()
        let isNews = recovery.fail(with: fault, at: clock.now())
        return IMUPoll(next: recovery.retry, event: isNews ? .failed(fault) : .none)
    }

    /// Forgets what no longer holds once the chip is not sampling any more.
    mutating func forgetStream() {
        estimator.restart()
        recovery.forgetInterruptions()
        progress.end()
        repetition.reset()
        thermometer.forgetStandard()
    }
}
