import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

/// A driver on a scripted bus with a manual clock, polled when it is due.
///
/// While samples flow, a poll has three steps: `advance` sets the clock, the test scripts the bus's answers (with `due`
/// frames if the chip samples at its nominal 200 Hz), and `poll` polls the driver.
final class MPU6050Rig {
    let clock: ManualClock
    let script: BusScript
    var driver: MPU6050<ScriptedBus, ManualClock>
    /// The samples of the last poll.
    private(set) var samples: [MotionSample] = []

    /// Whether the bus carries the reads of the ranges and of the frames in one transaction.
    var joinsReads: Bool
    private var batch: SampleBatch
    private var next: Timestamp
    /// By how much the next poll may be put off at rest, seconds.
    private(set) var reprieve = 0.0
    private var started: Timestamp
    private var taken = 0
    private var healthDue: Timestamp
    private var polled: Timestamp
    /// The number of configuration checks expected so far.
    private(set) var healthGroup = 0

    init(
        settings: IMUSettings = IMUSettings(), maximumReadLength: Int = 8192, capacity: Int = 64,
        joinsReads: Bool = false
    ) {
        self.joinsReads = joinsReads
        clock = ManualClock()
        script = BusScript(clock: clock)
        next = clock.now()
        started = next
        healthDue = next
        polled = next
        batch = SampleBatch(capacity: capacity)
        driver = MPU6050(
            bus: ScriptedBus(script, maximumReadLength: maximumReadLength, joinsReads: joinsReads),
            clock: clock, settings: settings,
            line: NoDataReadyLine())
    }

    var status: IMUStatus { driver.status }

    /// Whether a configuration check is due: after a pause as at rest, at the poll that is nearest to the end of the interval.
    private var isHealthDue: Bool {
        let pause = clock.now().seconds(since: polled)
        return clock.now() >= healthDue.advanced(bySeconds: pause > 0.05 ? -pause / 2 : 0)
    }

    /// Advances the clock to the driver's next poll, plus `seconds`.
    ///
    /// Also expects a configuration check if one is due, unless disabled.
    func advance(
        lateBy seconds: Double = 0, expectingHealth: Bool = true, at location: SourceLocation = #_sourceLocation
    ) {
        clock.advance(to: next.advanced(bySeconds: seconds))
        guard expectingHealth && isHealthDue else { return }
        // A late check is of as many groups as have been due.
        for _ in 0..<min(4, 1 + Int((10 * clock.now().seconds(since: healthDue)).rounded())) {
            script.expectHealth(healthGroup, at: location)
            healthGroup += 1
        }
        healthDue = clock.now().advanced(bySeconds: 0.1)
    }

    /// If a configuration check is due, expects the bus to fail it, and records it.
    func noteHealthCheck(failing error: BusError, times: Int) -> Bool {
        guard isHealthDue else { return false }
        let registers: [(UInt8, Int)] = [(0x6A, 3), (0x19, 4), (0x23, 1), (0x37, 2)]
        let (register, count) = registers[healthGroup % 4]
        for _ in 0..<times { script.read(register, count: count, failing: error) }
        healthDue = clock.now().advanced(bySeconds: 0.1)
        return true
    }

    /// Polls the driver with an empty batch.
    @discardableResult
    func poll() -> IMUPoll {
        batch.removeAll()
        polled = clock.now()
        let poll = driver.poll(into: &batch)
        next = poll.next
        reprieve = poll.reprieve
        samples = (0..<batch.count).map { batch[$0] }
        return poll
    }

    /// Advances the clock to the driver's next poll, and polls it.
    @discardableResult
    func advanceAndPoll(lateBy seconds: Double = 0) -> IMUPoll {
        clock.advance(to: next.advanced(bySeconds: seconds))
        return poll()
    }

    /// Frames that a 200 Hz chip has put into the FIFO since the driver's last read.
    var due: Int {
        Int((clock.now().seconds(since: started) / 0.005 + 1e-6).rounded(.down)) - taken
    }

    /// Expects a count and the read of `frames`, and the check that precedes their delivery.
    func expectFIFO(
        _ frames: [TestFrame], isDelivered: Bool = true, at location: SourceLocation = #_sourceLocation
    ) {
        if joinsReads {
            script.expectCount(14 * frames.count, at: location)
            script.expectRanges(at: location)
            script.expectBursts(frames, isLate: false, isDelivered: false, at: location)
        } else {
            script.expectFIFO(frames, isDelivered: isDelivered, at: location)
        }
        noteTaken(frames.count)
    }

    /// Records that the script lets the driver take `count` frames.
    func noteTaken(_ count: Int) {
        taken += count
    }

    /// Expects the due frames.
    func expectDue(at location: SourceLocation = #_sourceLocation) {
        expectFIFO(TestFrame.run(due), at: location)
    }

    /// Expects the FIFO to be emptied.
    func expectFIFOStart(temperature: Int16 = -4260, at location: SourceLocation = #_sourceLocation) {
        script.expectFIFOStart(temperature: temperature, at: location)
        started = clock.now()
        taken = 0
    }

    /// Expects and performs the polls that bring the chip up to settling.
    func bringUp(at location: SourceLocation = #_sourceLocation) {
        script.expectIdentification(at: location)
        advanceAndPoll()
        script.expectReset(at: location)
        advanceAndPoll()
        script.expectConfiguration(at: location)
        advanceAndPoll()
        noteFIFOStart()
    }

    /// Records that the chip has just been configured.
    func noteFIFOStart() {
        started = clock.now()
        taken = 0
        healthGroup = 0
        healthDue = started.advanced(bySeconds: 0.1)
    }

    /// Brings the chip up and runs until just after a configuration check. Every second frame is `frame`, including the
    /// first of each poll.
    ///
    /// - Returns: the event that came with the first samples.
    @discardableResult
    func stream(_ frame: TestFrame = TestFrame(), at location: SourceLocation = #_sourceLocation) -> SensorEvent {
        bringUp(at: location)
        var event = SensorEvent.none
        while healthGroup == 0 && !script.hasFailed {
            advance(at: location)
            expectFIFO(frame.living(due), at: location)
            let change = poll().event
            if change != .none { event = change }
        }
        return event
    }
}

/// A FIFO frame of raw values: distinct on every axis, some negative, 24 °C.
struct TestFrame: Equatable {
    var acceleration: (Int16, Int16, Int16) = (1000, -2000, 4096)
    var temperature: Int16 = -4260
    var rotation: (Int16, Int16, Int16) = (-164, 328, -820)

    var bytes: [UInt8] {
        let values = [
            acceleration.0, acceleration.1, acceleration.2, temperature, rotation.0, rotation.1, rotation.2,
        ]
        return values.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }

    static func == (a: TestFrame, b: TestFrame) -> Bool { a.bytes == b.bytes }

    /// Frames of which every second one differs in a bit, as with noise.
    func living(_ count: Int) -> [TestFrame] {
        var other = self
        other.rotation.2 ^= 1
        return (0..<count).map { $0 % 2 == 0 ? self : other }
    }

    /// Frames whose x values differ in the lowest bits, as with noise.
    static func run(_ count: Int, from first: Int = 0) -> [TestFrame] {
        (0..<count).map { TestFrame(acceleration: (1000 + Int16((first + $0) % 100), -2000, 4096)) }
    }
}

extension BusScript {
    /// WHO_AM_I, and the reset command.
    func expectIdentification(at location: SourceLocation = #_sourceLocation) {
        read(0x75, 0x68, at: location)
        write(0x6B, 0x80, at: location)
    }

    /// The reset is done, and the chip is woken.
    func expectReset(at location: SourceLocation = #_sourceLocation) {
        read(0x6B, 0x40, at: location)
        write(0x6B, 0x01, at: location)
    }

    /// Every configuration register is written and read back; the FIFO is started.
    func expectConfiguration(at location: SourceLocation = #_sourceLocation) {
        read(0x6B, 0x01, at: location)
        let registers: [(UInt8, UInt8)] = [
            (0x6C, 0x00), (0x19, 4), (0x1A, 2), (0x1B, 0x18), (0x1C, 0x10), (0x37, 0x00), (0x38, 0x00),
        ]
        for (register, value) in registers {
            write(register, value, at: location)
            read(register, value, at: location)
        }
        expectFIFOStart(at: location)
        read(0x23, 0xF8, at: location)
        read(0x6A, 0x40, at: location)
    }

    /// The FIFO is stopped, emptied and started.
    func expectFIFOStart(temperature: Int16 = -4260, at location: SourceLocation = #_sourceLocation) {
        write(0x23, 0x00, at: location)
        write(0x6A, 0x04, at: location)
        read(0x41, [UInt8(truncatingIfNeeded: temperature >> 8), UInt8(truncatingIfNeeded: temperature)], at: location)
        write(0x23, 0xF8, at: location)
        write(0x6A, 0x40, at: location)
    }

    /// One group of the health check, with the correct content.
    func expectHealth(_ group: Int, at location: SourceLocation = #_sourceLocation) {
        switch group % 4 {
        case 0: read(0x6A, [0x40, 0x01, 0x00], at: location)
        case 1: read(0x19, [4, 2, 0x18, 0x10], at: location)
        case 2: read(0x23, 0xF8, at: location)
        default: read(0x37, [0x00, 0x00], at: location)
        }
    }

    /// A read of the FIFO's count.
    func expectCount(_ bytes: Int, at location: SourceLocation = #_sourceLocation) {
        read(0x72, [UInt8(bytes >> 8), UInt8(bytes & 0xFF)], at: location)
    }

    /// A count, and the frames that it announces.
    func expectFIFO(
        _ frames: [TestFrame], isDelivered: Bool = true, at location: SourceLocation = #_sourceLocation
    ) {
        expectCount(14 * frames.count, at: location)
        expectBursts(frames, isLate: frames.count > 36, isDelivered: isDelivered, at: location)
    }

    /// The reads of frames: one transaction, or several of nine frames if more than half of the FIFO is waiting.
    /// If they are valid, the ranges follow.
    func expectBursts(
        _ frames: [TestFrame], isLate: Bool, isDelivered: Bool = true, at location: SourceLocation = #_sourceLocation
    ) {
        var rest = frames[...]
        while !rest.isEmpty {
            let burst = rest.prefix(isLate ? 9 : rest.count)
            read(0x74, burst.flatMap(\.bytes), at: location)
            rest = rest.dropFirst(burst.count)
        }
        if !frames.isEmpty && isDelivered { expectRanges(at: location) }
    }

    /// The check of the ranges, with the correct content, that precedes the delivery of frames.
    func expectRanges(at location: SourceLocation = #_sourceLocation) {
        read(0x1B, [0x18, 0x10], at: location)
    }
}
