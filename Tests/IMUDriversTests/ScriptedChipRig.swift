import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

/// A driver on a scripted bus, polled when it is due.
final class ScriptedChipRig<Part: ChipPart> {
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
            bus: ScriptedBus(script, maximumReadLength: 8192), clock: clock, settings: settings)
    }

    func poll() {
        clock.advance(to: next)
        batch.removeAll()
        next = driver.poll(into: &batch).next
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
    var count: Int { batch.count }

    /// The last sample of the last poll.
    func lastSample() throws -> MotionSample {
        let count = batch.count
        try #require(count > 0)
        return batch[count - 1]
    }
}
