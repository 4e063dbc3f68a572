import BrokerTestSupport
import IMUDrivers
import LinuxSensors
import MotionCore
import Testing
import VirtualIMU

@testable import MotionKit

/// Sample handlers receive every sample once and in order, whatever other handlers do.
@Suite(.timeLimit(.minutes(1))) struct MotionManagerSampleTests {
    private let rig = Rig()

    /// Compares two arrays without printing thousands of samples.
    private func expectEqual(
        _ received: [MotionSample], _ fed: [MotionSample], at location: SourceLocation = #_sourceLocation
    ) {
        let firstWrong = zip(received, fed).enumerated().first { $0.element.0 != $0.element.1 }
        #expect(firstWrong?.offset == nil, sourceLocation: location)
        #expect(received.count == fed.count, sourceLocation: location)
    }

    @Test func deliversEverySampleOnceInOrder() async throws {
        let manager = rig.manager()
        let received = manager.sampleJournal()
        let fed = Movement.wholeShake()
        try manager.start(with: ScriptedDevice([.samples(fed)]))
        #expect(await eventually { received.count >= fed.count })
        expectEqual(received.entries, fed)
    }

    /// Samples are along the body's axes, and are numbered even while there are no handlers.
    @Test func deliversSamplesAlongBodyAxes() async throws {
        let manager = rig.manager()
        // The sensor's x is the body's y.
        manager.settings.mount = Matrix3(Vector3(0, -1, 0), Vector3(1, 0, 0), Vector3(0, 0, 1))
        let received = Journal<MeasuredSample>()
        var movement = Movement()
        let device = try manager.start(feeding: movement.rest(0.5))
        #expect(await eventually { manager.sensorStatus?.samples == 100 && device.isExhausted })
        #expect(await eventually { manager.state?.timestamp == Timestamp(seconds: 100.495) })
        let token = manager.addMeasuredSampleHandler { received.append(contentsOf: $0) }
        let fed = movement.wholeShake()
        device.feed(fed)
        #expect(await eventually { received.count >= fed.count })
        token.remove()
        let samples = received.entries
        #expect(samples.map(\.number) == (100..<UInt64(100 + fed.count)).map { $0 })
        #expect(samples.map(\.timestamp) == fed.map(\.timestamp))
        let wrong = zip(samples, fed).first { pair in
            let raw = pair.1.acceleration
            return (pair.0.acceleration - Vector3(-raw.y, raw.x, raw.z)).length > 1e-9
        }
        #expect(wrong == nil)
        #expect(samples.last?.attitude == manager.attitude)
    }

    /// A handler that is added while samples flow, and others are added and removed, misses none after its first.
    @Test func lateHandlerMissesNoSample() async throws {
        let manager = rig.manager()
        let received = Journal<MotionSample>()
        var movement = Movement()
        let device = ScriptedDevice()
        try manager.start(with: device)
        for round in 0..<50 {
            device.feed(movement.rest(0.1))
            if round == 10 { manager.addSampleHandler { received.append(contentsOf: $0) } }
            manager.addSampleHandler { _ in }.remove()
        }
        let last = movement.rest(0.1)
        device.feed(last)
        #expect(await eventually { received.entries.last == last.last })
        let indices = received.entries.map { Int((($0.timestamp.seconds - 100) * Movement.rate).rounded()) }
        #expect(indices == Array((indices.first ?? 0)..<(51 * 20)))
    }

    /// The gate at which a handler of the manager is stuck, while the sensor has delivered these samples.
    private func stuckHandler(of manager: MotionManager, while fed: [MotionSample]) async throws -> Gate {
        let gate = Gate()
        manager.addSensorHandler { _, _ in gate.pass() }
        let device = ScriptedDevice([.event(.streaming(afterGap: 0))])
        try manager.start(with: device)
        #expect(await eventually { gate.arrivals == 1 })
        device.feed(fed)
        #expect(await eventually { manager.sensorStatus?.samples == UInt64(fed.count) })
        return gate
    }

    /// While a handler does not return, up to twenty seconds of samples at 200 Hz are queued.
    @Test func slowHandlerLosesNoSample() async throws {
        let manager = rig.manager()
        let received = manager.sampleJournal()
        let fed = Movement.rest(20)
        let gate = try await stuckHandler(of: manager, while: fed)
        defer { gate.open() }
        #expect(received.count == 0)
        gate.open()
        #expect(await eventually { received.count >= fed.count })
        expectEqual(received.entries, fed)
        #expect(manager.droppedDeliveries == 0)
    }

    /// Samples that do not fit into the queue are counted, and the others stay in order.
    @Test func countsSamplesLostToFullQueue() async throws {
        let manager = rig.manager(updateInterval: .infinity)
        let received = manager.sampleJournal()
        let fed = Movement.rest(25)
        let gate = try await stuckHandler(of: manager, while: fed)
        defer { gate.open() }
        #expect(manager.droppedDeliveries == 5000 - 4096)
        gate.open()
        #expect(await eventually { received.count >= 4096 })
        expectEqual(received.entries, Array(fed.prefix(4096)))
    }
}

/// End-to-end tests with the virtual chip in real time.
@Suite(.timeLimit(.minutes(1))) struct VirtualSensorTests {
    private let rig = Rig()

    /// Two seconds of rest, then a shake along x.
    @Test func recognisesShakeOfVirtualChip() async throws {
        let manager = rig.manager(sensor: .virtual("shake"), settings: .shakesOnly, updateInterval: 0.05)
        let events = Journal<GestureEvent>()
        let states = Journal<MotionState>()
        let received = Journal<MotionSample>()
        manager.addRecognizer(.shake, into: events, .consume) { $0 }
        manager.addMotionHandler { states.append($0) }
        manager.addSampleHandler { received.append(contentsOf: $0) }
        try await manager.start()
        #expect(manager.isSimulated == true)
        #expect(await eventually { manager.attitude != nil })
        #expect(manager.sensorInfo?.nominalRate == 200)
        // On a busy machine, more of them may have come before this check.
        #expect(await eventually { events.count >= 2 })
        #expect(events.entries.prefix(2).map(\.phase) == [.began, .ended])
        #expect(events.entries.first?.axis == .x)
        #expect(events.entries.allSatisfy { ($0.strength ?? 0) > 10 })
        #expect(manager.loopCount > 20)
        #expect(manager.sensorStatus?.state == .streaming)
        // Two seconds of rest and one of shaking, at 200 Hz.
        #expect((manager.sensorStatus?.samples ?? 0) > 400)
        manager.stop()
        for (earlier, later) in zip(states.entries, states.entries.dropFirst()) {
            #expect(earlier.timestamp < later.timestamp)
        }
        for (earlier, later) in zip(received.entries, received.entries.dropFirst()) {
            #expect(earlier.timestamp < later.timestamp)
        }
        let timestamps = Set(received.entries.map(\.timestamp))
        #expect(states.entries.allSatisfy { timestamps.contains($0.timestamp) })
    }

    private static let clock = SystemClock()

    /// A virtual chip at rest, and its driver.
    private static func chip() -> (VirtualIMUChip, any SensorDevice) {
        let chip = VirtualIMUChip(trajectory: Rest(), start: clock.now())
        let bus = VirtualBus(chip, clock: clock)
        let driver = MPU6050(bus: bus, clock: clock, settings: IMUSettings(), line: NoDataReadyLine())
        return (chip, DriverDevice(driver, DeviceNames(title: "chip", storage: "virtual"), isSimulated: true))
    }

    /// Stop puts the chip to sleep, start wakes it, and every sample of the driver arrives exactly once.
    @Test func stopPutsChipToSleep() async throws {
        let (chip, device) = Self.chip()
        let manager = MotionManager()
        let received = manager.sampleJournal()
        for round in 1...2 {
            let before = received.count
            try manager.start(with: device)
            #expect(await eventually { received.count > before + 20 })
            #expect(try powerManagement(of: chip) & 0x40 == 0)
            manager.stop()
            #expect(try powerManagement(of: chip) & 0x40 != 0, "round \(round)")
            #expect(received.count == Int(device.status.samples))
        }
    }

    /// PWR_MGMT_1, whose bit 6 is SLEEP (RM-MPU-6000A-00 r4.2, p. 40).
    private func powerManagement(of chip: VirtualIMUChip) throws -> UInt8 {
        var bus = VirtualBus(chip, clock: Self.clock)
        return try bus.read(0x6B)
    }

    /// The loss of an unplugged chip cancels gestures, and its return is reported with the length of the gap.
    @Test func recoversUnpluggedChip() async throws {
        let (chip, device) = Self.chip()
        let manager = rig.manager()
        let events = manager.sensorJournal()
        try manager.start(with: device)
        #expect(await eventually { events.entries == [.streaming(afterGap: 0)] })
        chip.inject(.unplugged)
        #expect(await eventually { events.count == 2 })
        chip.clearFaults()
        #expect(await eventually { events.count == 3 })
        guard case .failed(.bus) = events.entries[1], case .streaming(let gap) = events.entries[2] else {
            throw Unexpected(events.entries)
        }
        #expect(gap > 0)
        #expect(await eventually { manager.sensorStatus?.recoveries == 1 })
    }
}
