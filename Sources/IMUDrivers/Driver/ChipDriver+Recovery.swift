internal import MotionCore

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Restarts the FIFO after its content was lost; the stream continues with a gap. `event` is the change already
    /// caused by samples of the same poll.
    mutating func interrupt(_ fault: IMUFault, after event: SensorEvent = .none) throws(IMUFault) -> IMUPoll {
        status.lastFault = fault
        switch fault {
        case .overflow: status.overflows += 1
        case .misaligned: status.misalignments += 1
        default: break
        }
        guard recovery.interrupt(by: fault) else { throw fault }
        try startFIFO(samplesOn: true)
        return IMUPoll(next: nextRead(), event: event)
    }

    /// Abandons the present attempt. The chip is brought up from scratch after a pause that grows with each failure.
    mutating func recover(from fault: IMUFault) -> IMUPoll {
        status.state = .recovering
        status.lastFault = fault
        forgetStream()
        let isNew = recovery.fail(with: fault, at: clock.now())
        return IMUPoll(next: recovery.retry, event: isNew ? .failed(fault) : .none)
    }

    /// Discards the state that becomes invalid when the chip stops sampling.
    mutating func forgetStream() {
        if bank != 0 {
            bringUp.noteOtherBank()
            bank = 0
        }
        estimator.restart()
        status.isPeriodMeasured = false
        recovery.forgetInterruptions()
        progress.end()
        repetition.reset()
        thermometer.forgetReference()
    }
}
