import BrokerTestSupport
import IMUDrivers
import JostleConfiguration
import JostleMessages
import MotionCore
import MotionKit
import Testing

@testable import JostleAgent

/// Requirement: the current values that the agent publishes do not change their form.
@Suite final class GoldenTelemetryTests {
    private var golden = GoldenText()
    private typealias Bench = ParticipantBench<TelemetryPublisher>

    private func bench(isSimulated: Bool = false) -> Bench {
        var publish = JostleSettings().publish
        publish.attitude = JostleSettings.Stream(rate: 10, deadband: 0, heartbeat: 0)
        publish.motion = JostleSettings.Stream(rate: 10, deadband: 0, heartbeat: 0)
        let topics = Topics(prefix: "jostle", id: "washer-1")
        var bench = Bench(TelemetryPublisher(topics: topics, publish: publish, isSimulated: isSimulated))
        bench.connect()
        return bench
    }

    private func lines(_ bench: inout Bench) -> [String] { bench.takePublished().map(\.message.goldenLine) }

    /// A state with another value on each axis.
    private func state(_ change: (inout MotionState) -> Void = { _ in }) -> MotionState {
        var state = MotionState()
        state.timestamp = Timestamp(seconds: 50)
        state.relativeAttitude = Quaternion(0.771281, 0.033024, -0.023665, 0.635197)
        state.attitude = Quaternion(angle: 1.75, axis: Vector3(0, 0, 1))
        state.linearAcceleration = Vector3(0.1234, -1.5, 12)
        state.gravity = Vector3(-0.7702, 0.2049, 9.774)
        state.rotationRate = Vector3(0.1, -0.02, 3)
        state.temperature = 23.44
        change(&state)
        return state
    }

    @Test("Availability, attitude, motion and state have the recorded payloads")
    func values() {
        func add(_ name: String, _ state: MotionState, isSimulated: Bool = false) {
            golden.heading(name)
            var connected = bench(isSimulated: isSimulated)
            connected.publish(state)
            // The first one is the availability.
            for (number, line) in lines(&connected).dropFirst().enumerated() {
                golden.add("message \(number + 1)", line.withoutTimes)
            }
        }
        golden.heading("availability")
        var idle = bench()
        golden.add("connected", lines(&idle).joined(separator: "\n"))
        let topics = Topics(prefix: "jostle", id: "washer-1")
        golden.add("will", TelemetryPublisher.availability("offline", topics).goldenLine)

        add("at the start", MotionState())
        add("moved", state())
        add("without temperature, of a virtual sensor", state { $0.temperature = .nan }, isSimulated: true)
        for (quality, yaw) in [(HeadingQuality.learning, 1.75), (.tracking, -1.75), (.disturbed, 0.0004)] {
            add(
                "heading \(quality.word)",
                state { state in
                    state.attitude = Quaternion(angle: yaw, axis: Vector3(0, 0, 1))
                    state.heading = HeadingState(quality: quality, deviation: 0.05, field: 48)
                })
        }
        for side in BodySide.allCases { add("side \(side.word)", state { $0.side = side }) }
        add(
            "moving and vibrating",
            state { state in
                state.isMoving = true
                state.isVibrating = true
                state.vibrationLevel = 1.23456
            })
        add(
            "numbers that JSON does not have",
            state { state in
                state.linearAcceleration = Vector3(.nan, 0, 0)
                state.gravity = Vector3(0, .infinity, 0)
                state.rotationRate = Vector3(-1e-9, 1e12, 0)
                state.vibrationLevel = .nan
            })

        golden.heading("sensing is stopped")
        var stopped = bench(isSimulated: true)
        _ = lines(&stopped)
        stopped.carryOut(stopped.participant.setStopped(true, at: stopped.clocks))
        golden.add("before the first sample", lines(&stopped).joined(separator: "\n"))
        stopped.carryOut(stopped.participant.setStopped(false, at: stopped.clocks))
        stopped.publish(state { $0.isVibrating = true })
        _ = lines(&stopped)
        stopped.carryOut(stopped.participant.setStopped(true, at: stopped.clocks))
        golden.add("afterwards", lines(&stopped).joined(separator: "\n"))
        expectGolden(golden, "agent-telemetry.txt")
    }

    // MARK: Streams

    private func payloads(
        _ fields: SampleStream.Fields, rate: Double?, _ numbers: [UInt64], hasGyroscope: Bool = true
    ) -> [String] {
        var stream = SampleStream(fields: fields, rate: rate, interval: 0.02, sensorRate: 200)
        var batches: [SampleStream.Batch] = []
        for number in numbers {
            let rotation = hasGyroscope ? Vector3(0, .pi / 180, -.pi) : Vector3(.nan, .nan, .nan)
            let sample = MeasuredSample(
                number: number, timestamp: Timestamp(seconds: 100 + 0.005 * Double(number)),
                acceleration: Vector3(Double(number), -1.23456, 9.80665), rotationRate: rotation,
                attitude: Quaternion(0.8, 0, -0.6, 0))
            stream.append(sample) { batches.append($0) }
        }
        if fields.contains(.field) { stream.append([Vector3(20, 0.004, -43.996), Vector3(19.5, -1, -44)]) }
        stream.flush { batches.append($0) }
        return batches.map { $0.payload(at: 1_795_182_603_123.4567).bytes.text }
    }

    @Test("The messages of a stream of samples have the recorded payloads")
    func stream() {
        func add(_ name: String, _ payloads: [String]) { golden.add(name, payloads.joined(separator: "\n")) }
        add("acceleration", payloads(.acceleration, rate: nil, [7, 8, 9, 10, 11]))
        add("rotation", payloads(.rotation, rate: nil, [0, 1]))
        add("attitude", payloads(.attitude, rate: nil, [0, 1]))
        add("all fields, every second sample", payloads([.acceleration, .rotation, .attitude], rate: 100, [3, 4, 5]))
        add("a missing sample", payloads([.acceleration, .rotation], rate: nil, [0, 1, 3]))
        add("readings of the magnetometer", payloads([.attitude, .field], rate: nil, [0, 1]))
        add("without a gyroscope", payloads([.acceleration, .rotation], rate: nil, [0], hasGyroscope: false))
        expectGolden(golden, "agent-stream.txt")
    }

    // MARK: Health

    private func clocks(_ seconds: Double, isSet: Bool = true) -> ClockReading {
        ClockReading(
            boot: "a", monotonic: Timestamp(seconds: seconds),
            wall: 1_795_182_603_123, isSet: isSet)
    }

    /// The health report that is published at a moment.
    private func report(_ facts: HealthFacts, isSet: Bool = true) -> String {
        var reporter = HealthReporter(version: "1.2.3", interval: 60, processorTime: 0, at: clocks(100))
        var connected = bench()
        _ = lines(&connected)
        let report = reporter.report(facts, at: clocks(110, isSet: isSet))
        connected.carryOut(connected.participant.publish(health: report))
        return lines(&connected).joined(separator: "\n")
    }

    /// The facts of a device that works, with a change.
    private func facts(_ change: (inout HealthFacts) -> Void = { _ in }) -> HealthFacts {
        var facts = HealthFacts()
        facts.sensorTitle = "MPU-6050 at 0x68 on /dev/i2c-1"
        facts.status.state = .streaming
        facts.status.samples = 2001
        facts.hasRealTimePriority = true
        facts.temperature = 23.45
        facts.processorTime = 0.1234
        facts.residentMemory = 8_765_432
        facts.isClockSynchronised = true
        change(&facts)
        return facts
    }

    private var counters: HealthFacts {
        facts { facts in
            facts.status.periodDeviation = -251.5
            facts.status.isPeriodMeasured = true
            facts.status.gaps = 1
            facts.status.lostSamples = 2
            facts.status.overflows = 3
            facts.status.misalignments = 4
            facts.status.recoveries = 5
            facts.status.clippedSamples = 6
            facts.status.clippedAccelerations = 7
            facts.status.clippedRotationRates = 8
            facts.status.busErrors.notAcknowledged = 9
            facts.status.busErrors.arbitrationLost = 10
            facts.status.busErrors.timedOut = 11
            facts.status.busErrors.inputOutput = 12
            facts.status.busErrors.other = .max
            facts.gestures = 13
            facts.droppedDeliveries = 14
            facts.outbox.count = 15
            facts.outbox.bytes = 16
            facts.outbox.unstored = 17
            facts.outbox.sentUnstored = 18
            facts.outbox.dropped = 19
            facts.outbox.expired = 20
            facts.connects = 21
        }
    }

    @Test("Health reports, with every problem and every field, have the recorded payloads")
    func health() {
        func add(_ name: String, _ facts: HealthFacts, isSet: Bool = true) {
            golden.add(name, report(facts, isSet: isSet))
        }
        golden.heading("whole reports")
        add("nothing known", HealthFacts())
        add("all is well", facts())
        add("counters", counters)
        add("stopped", facts { $0.isStopped = true })

        golden.heading("problems")
        add("no sensor", facts { $0.status.state = .recovering })
        add("clock", facts(), isSet: false)
        add("clock not synchronised", facts { $0.isClockSynchronised = false })
        add("outbox", facts { $0.outbox.failure = "No space left on device" })
        add("storage", facts { $0.storageFaults = ["/state/x: No space left on device", "second \"fault\""] })
        add("duplicate", facts { $0.hasDuplicate = true })
        add("mqtt", facts { $0.connectionFaults = (1...12).map { "fault \($0)" } })
        for (part, factor) in [
            ("LSM6DSO", 0.5), ("ADXL345", 0.08), ("MPU-6050", 2), ("MPU-6050", 1.3), ("MPU-6050", 5),
        ] {
            add(
                "scale of \(part), \(factor)",
                facts { $0.gravity = GravityCheck.finding(driving: part, atRest: factor * standardGravity) })
        }

        golden.heading("sensor")
        for state in [
            IMUState.asleep, .identifying, .resetting, .waking, .configuring, .settling, .streaming, .recovering,
        ] {
            add("\(state)", facts { $0.status.state = state })
        }
        let faults: [IMUFault] = [
            .bus(BusError(.timedOut)), .bus(BusError(.notAcknowledged)), .identity(found: 0x70),
            .readBack(register: 0x19, wrote: 4, read: 5), .deadline(.resetting), .overflow, .misaligned,
            .configurationLost(register: 0x6B), .stalled, .noTrigger,
        ]
        for fault in faults { add("\(fault)", facts { $0.status.lastFault = fault }) }
        add("notes", facts { $0.sensorNotes = ["sensor.rate: the BMI160 provides 800 Hz instead of 1000 Hz", "b"] })
        add("gestures that are not available", facts { $0.unavailableGestures = [.turn, .shake] })
        for state in [DataReadyStatus.State.none, .seeking, .used, .unused] {
            add("data-ready line \(state)", facts { $0.status.dataReady.state = state })
        }
        for fault in [DataReadyFault.silent, .mismatched, .unsupported] {
            add(
                "data-ready line \(fault)",
                facts { facts in
                    facts.status.dataReady.state = .unused
                    facts.status.dataReady.lastFault = fault
                    facts.status.dataReady.failures = 1
                    facts.status.dataReady.edges = 2
                    facts.status.dataReady.lostEdges = 3
                    facts.status.dataReady.outlierEdges = 4
                    facts.status.dataReady.timedSamples = 5
                })
        }

        golden.heading("magnetometer")
        for state in [MagnetometerState.asleep, .identifying, .starting, .measuring, .recovering] {
            add("\(state)", magnetometer { $0.state = state })
        }
        let magneticFaults: [MagnetometerFault] = [
            .bus(BusError(.timedOut)), .identity(found: 7), .readBack(register: 1, wrote: 2, read: 3),
            .trim(found: 0xFF), .deadline, .configurationLost(register: 9), .stalled,
        ]
        for fault in magneticFaults { add("\(fault)", magnetometer { $0.lastFault = fault }) }
        for quality in [HeadingQuality.learning, .tracking, .disturbed] {
            var facts = magnetometer { $0.readings = 12 }
            facts.heading = HeadingState(quality: quality, deviation: 0.0351, field: 48.27)
            add("heading \(quality.word)", facts)
        }

        golden.heading("calibration")
        add("empty", facts { $0.calibration = StoredCalibration() })
        add(
            "all sources",
            facts { facts in
                facts.calibration = StoredCalibration(
                    learntScale: ScaleEstimate(
                        scale: Matrix3(Vector3(0.03, 0, 0), Vector3(0, -0.01, 0), Vector3(0, 0, 0.02)),
                        deviation: Matrix3(
                            Vector3(0.0004, 0.0006, 0.0007), Vector3(0.0009, 0.0005, 0.0008),
                            Vector3(0.002, 0.0007, 0.0003))),
                    accelerometerSource: "poses: 8, residual: 1.2 mg",
                    gyroscopeSource: "turns: 6, residual: 0.2 degrees",
                    magnetometerSource: "readings: 312, residual: 0.45 uT, heading: 0.8 degrees")
            })

        golden.heading("upgrade")
        for state in [UpgradeStatus.State.waiting, .installing, .installed, .failed] {
            add("\(state)", facts { $0.upgrade = UpgradeStatus(state: state, wanted: "0.5.0-1") })
        }
        add(
            "with all fields",
            facts { facts in
                facts.upgrade = UpgradeStatus(
                    state: .failed, wanted: "0.5.0-1", reason: "the service \"jostle\" does not start", seconds: 14.5)
            })
        expectGolden(golden, "agent-health.txt")
    }

    private func magnetometer(_ change: (inout MagnetometerStatus) -> Void) -> HealthFacts {
        var status = MagnetometerStatus()
        status.state = .measuring
        status.failures = 1
        status.overflows = 2
        status.busErrors.timedOut = 3
        change(&status)
        return facts { facts in
            facts.magnetometerName = "AK8963"
            facts.magnetometer = status
        }
    }

    @Test("The status of an upgrade that the service wrote is reported in the recorded way")
    func upgradeStatus() throws {
        let directory = try TemporaryDirectory()
        for text in [
            #"{"state":"failed","wanted":"1.2","installed":"1.1","reason":"it does not start","seconds":14}"#,
            #"{"state":"installed","wanted":"1.2","installed":"1.2","reason":"","seconds":null}"#,
            #"{"state":"installing","wanted":"1.2","seconds":"3.7"}"#, #"{"state":"installed","wanted":"1.1"}"#,
            #"{"state":"exploded","wanted":"1.2","reason":""}"#, #"{"state":"#, "[]", "",
        ] {
            try directory.write(text, to: "status.json")
            let status = UpgradeStatus.read(wanted: "1.2", at: directory.path("status.json"))
            golden.add(text.isEmpty ? "(nothing)" : text, status.text)
        }
        expectGolden(golden, "upgrade-status.txt")
    }
}
