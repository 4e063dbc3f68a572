import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

/// A driver on a scripted bus, polled when it is due.
class ScriptedChipRig<Part: ChipPart> {
    let clock = ManualClock()
    let start: Timestamp
    let script: BusScript
    var driver: ChipDriver<Part, ScriptedBus, ManualClock, NoDataReadyLine>
    var batch = SampleBatch(capacity: 64)
    var next: Timestamp

    init(_ settings: IMUSettings = IMUSettings()) {
        script = BusScript(clock: clock)
        start = clock.now()
        next = start
        driver = ChipDriver(
            bus: ScriptedBus(script, maximumReadLength: 8192), clock: clock, settings: settings, line: NoDataReadyLine()
        )
    }

    @discardableResult
    func poll() -> IMUPoll {
        clock.advance(to: next)
        return pollNow()
    }

    @discardableResult
    func pollNow() -> IMUPoll {
        batch.removeAll()
        let poll = driver.poll(into: &batch)
        next = poll.next
        return poll
    }

    /// Polls this many seconds after the FIFO was started.
    func poll(after seconds: Double, from origin: Timestamp) {
        next = origin.advanced(bySeconds: seconds)
        poll()
    }

    /// Expects the registers to be written and read back.
    func expect(_ registers: [(UInt8, UInt8)]) {
        for (register, value) in registers {
            script.write(register, value)
            script.read(register, value)
        }
    }

    var state: IMUState { driver.status.state }
    var status: IMUStatus { driver.status }
    var count: Int { batch.count }

    /// The samples of the last poll.
    var samples: [MotionSample] { (0..<batch.count).map { batch[$0] } }

    /// The last sample of the last poll.
    func lastSample() throws -> MotionSample {
        let count = batch.count
        try #require(count > 0)
        return batch[count - 1]
    }
}
