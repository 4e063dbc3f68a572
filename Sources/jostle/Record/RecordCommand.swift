internal import IMUDrivers
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// `jostle record`: writes every sample into a recording file.
enum RecordCommand {
    static let usage = CommandUsage(
        name: "record", summary: "write every sample of the sensor to a recording file, until stopped by a signal",
        details: """
            The samples are along the sensor's axes, as measured, without the mount matrix. `jostle replay` puts a
            recording through the pipeline.
            """,
        operands: [Operand("FILE", help: "the file to write; - for standard output")],
        options: CommandUsage.configurationOptions + [Option("for", value: "SECONDS", help: "stop after this time")])

    static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        let settings = try Configuration.load(arguments, boardFile: .optional).settings
        let seconds = try arguments.seconds("for")
        let path = arguments.operand(0) ?? "-"
        let manager = MotionManager(
            sensor: settings.sensorSelection, imu: settings.imu, settings: settings.motion.withoutReference,
            updateInterval: 1)
        let device = try OpenSensor.open(settings, before: "record")
        let recorder = Recorder(path: path, hasField: device.magnetometerName != nil, info: { manager.sensorInfo })
        manager.addMagneticFieldHandler { recorder.take($0) }
        manager.addSampleHandler { recorder.take($0) }
        manager.addSensorHandler { event, _ in
            switch event {
            case .failed(.measurement(let fault)): Output.warn("\(fault.explanation)")
            case .failed(let fault):
                Output.warn("the sensor is lost: \(fault.explanation); trying again")
            case .gap(let lost, let fault): recorder.noteGap(lost, fault)
            case .none, .streaming: break
            }
        }
        if let matrix = device.mountMatrix, settings.motion.mount == .identity {
            Output.warn("to replay it with this board's mounting, set sensor.mount_matrix: \(matrix.rows)")
        }
        try manager.start(with: device)
        let end = seconds.map { WallClock.monotonic.advanced(bySeconds: $0) }
        while recorder.failure == nil {
            let left = end.map { $0.seconds(since: WallClock.monotonic) } ?? 0.2
            if left <= 0 || signals.wait(seconds: min(0.2, left)) { break }
        }
        let dropped = manager.droppedDeliveries
        if dropped > 0 {
            Output.warn("\(dropped) samples are missing: the file could not be written in time")
        }
        if let name = device.magnetometerName, let status = manager.lastMagnetometerStatus, status.readings == 0 {
            let fault = status.lastFault.map { ": \($0.explanation)" } ?? ""
            Output.warn("the magnetometer \(name) gave no reading\(fault)")
        }
        manager.stop()
        try recorder.finish()
    }
}

/// Writes the samples that the delivery thread passes.
private final class Recorder: Sendable {
    private struct State: ~Copyable {
        var writer: RecordingWriter?
        var failure: (any Error)?
        var count = 0
        var gaps = 0
        var lost = 0.0
        var lastFault: IMUFault?
    }

    private let path: String
    private let hasField: Bool
    private let info: @Sendable () -> IMUInfo?
    private let state = Mutex(State())

    init(path: String, hasField: Bool, info: @escaping @Sendable () -> IMUInfo?) {
        self.path = path
        self.hasField = hasField
        self.info = info
    }

    var failure: (any Error)? { state.withLock { $0.failure } }

    func take(_ fields: [MagneticSample]) {
        state.withLock { state in
            // Readings from before the first sample are not needed.
            for field in fields { state.writer?.add(field) }
        }
    }

    func take(_ samples: [MotionSample]) {
        state.withLock { state in
            guard state.failure == nil else { return }
            do {
                if state.writer == nil, let info = info() {
                    state.writer = try RecordingWriter(
                        path: path, accelerometerRange: info.accelerometerRange, gyroscopeRange: info.gyroscopeRange,
                        hasTemperature: true, hasField: hasField, sensor: "\(info.name)")
                }
                for sample in samples { try state.writer?.write(sample) }
                state.count += samples.count
            } catch {
                state.failure = error.ofOutput
            }
        }
    }

    /// Counts missing samples, s. A loose wire has thousands.
    func noteGap(_ seconds: Double, _ fault: IMUFault) {
        state.withLock { state in
            state.gaps += 1
            state.lost += seconds
            state.lastFault = fault
        }
    }

    /// Closes the file and reports the number of samples, and of gaps.
    func finish() throws {
        let (failure, count, gaps) = state.withLock { state in
            if state.failure == nil {
                do { try state.writer?.flush() } catch { state.failure = error.ofOutput }
            }
            state.writer = nil
            let gaps = state.lastFault.map { fault in
                "\(state.gaps) \(state.gaps == 1 ? "gap" : "gaps"), in which \(decimal(state.lost, 3)) s of samples are missing; "
                    + "the last: \(fault.explanation)"
            }
            return (state.failure, state.count, gaps)
        }
        if let gaps { Output.warn("\(gaps)") }
        if let failure { throw failure }
        guard count > 0 else { throw Failure(.unavailable, "the sensor gave no sample") }
        Output.errors(["\(count) samples in \(path == "-" ? "standard output" : path)"])
    }
}
