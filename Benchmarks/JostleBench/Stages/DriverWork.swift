internal import IMUDrivers
internal import MotionCore

/// A host that polls the driver of a replayed chip whenever it is due.
struct ReplayHost: ~Copyable {
    var batch = SampleBatch(capacity: 128)
    private var driver: MPU6050<ReplayBus, ManualClock>
    private let clock: ManualClock
    private var lateness = Lateness()
    private var next: Timestamp

    /// Consecutive polls without a sample after which no more are expected.
    static let idleLimit = 1000

    init(_ recording: Recording, faults: ReplayBus.Faults) {
        clock = ManualClock()
        next = clock.now()
        driver = MPU6050(
            bus: ReplayBus(recording, clock: clock, faults: faults), clock: clock, settings: recording.settings,
            line: NoDataReadyLine())
    }

    /// Advances the clock to the next poll, and polls with an empty batch.
    mutating func poll() {
        clock.set(to: Timestamp(nanoseconds: next.nanoseconds + lateness.next()))
        batch.removeAll()
        next = driver.poll(into: &batch).next
    }
}

/// The hot path: from the FIFO's bytes through driver and pipeline to the event.
struct HotPathWork: StageWork, ~Copyable {
    private var host: ReplayHost
    private var pipeline: MotionPipeline
    private(set) var events = 0

    /// Creates the path for a recording, with a pipeline of these settings.
    init(_ recording: Recording, faults: ReplayBus.Faults = .none, settings: MotionSettings = MotionSettings()) {
        host = ReplayHost(recording, faults: faults)
        pipeline = MotionPipeline(settings: settings)
    }

    /// The same path with the most expensive settings, and with a chip and a bus that cause frequent faults.
    static func atWorst(_ recording: Recording) -> HotPathWork {
        var settings = MotionSettings()
        // A third of a turn about the diagonal combined with a 3-4-5 rotation: every body axis depends on several
        // sensor axes.
        settings.mount =
            Matrix3(Vector3(0, 1, 0), Vector3(0, 0, 1), Vector3(1, 0, 0))
            * Matrix3(Vector3(0.6, -0.8, 0), Vector3(0.8, 0.6, 0), Vector3(0, 0, 1))
        settings.reference = .start
        return HotPathWork(recording, faults: .frequent, settings: settings)
    }

    mutating func run(_ count: Int) -> Int {
        var events = 0
        var done = 0
        var idle = 0
        while done < count, idle < ReplayHost.idleLimit {
            host.poll()
            idle = host.batch.isEmpty ? idle + 1 : 0
            for index in 0..<host.batch.count {
                pipeline.process(host.batch[index]) { event in
                    events += 1
                    keep(event)
                }
                keep(&pipeline)
            }
            done += host.batch.count
        }
        self.events += events
        return done
    }
}

/// From the FIFO's bytes through the driver only.
struct DriverWork: StageWork, ~Copyable {
    private var host: ReplayHost
    var events: Int { 0 }

    init(_ recording: Recording) {
        host = ReplayHost(recording, faults: .none)
    }

    mutating func run(_ count: Int) -> Int {
        var done = 0
        var idle = 0
        while done < count, idle < ReplayHost.idleLimit {
            host.poll()
            idle = host.batch.isEmpty ? idle + 1 : 0
            keep(&host)
            done += host.batch.count
        }
        return done
    }
}
