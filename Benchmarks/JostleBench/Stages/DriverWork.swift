internal import IMUDrivers
internal import MotionCore

/// A host that looks at a chip on a tape whenever the driver wants it to.
struct TapeHost: ~Copyable {
    var batch = SampleBatch(capacity: 128)
    private var driver: MPU6050<TapeBus, HandClock>
    private let clock: HandClock
    private var lateness = Lateness()
    private var next: Timestamp

    /// Polls without a sample after which there will be none.
    static let patience = 1000

    init(_ recording: Recording, faults: TapeBus.Faults) {
        clock = HandClock()
        next = clock.now()
        driver = MPU6050(
            bus: TapeBus(recording, clock: clock, faults: faults), clock: clock, settings: recording.settings)
    }

    /// Turns the clock to the next poll, and polls into the emptied batch.
    mutating func poll() {
        clock.turn(to: Timestamp(nanoseconds: next.nanoseconds + lateness.next()))
        batch.removeAll()
        next = driver.poll(into: &batch).next
    }
}

/// The hot path: the FIFO's bytes through the driver and the pipeline.
struct HotPathWork: StageWork, ~Copyable {
    private var host: TapeHost
    private var pipeline: MotionPipeline
    private(set) var events = 0

    /// Makes the path of a recording, through a pipeline of `settings`.
    init(_ recording: Recording, faults: TapeBus.Faults = .none, settings: MotionSettings = MotionSettings()) {
        host = TapeHost(recording, faults: faults)
        pipeline = MotionPipeline(settings: settings)
    }

    /// The path with everything on it that a user may set and a chip may suffer.
    static func atWorst(_ recording: Recording) -> HotPathWork {
        var settings = MotionSettings()
        // A third of a turn about the diagonal, and 3-4-5: every body axis is made of several of the sensor's.
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
        while done < count, idle < TapeHost.patience {
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

/// The FIFO's bytes through the driver alone.
struct DriverWork: StageWork, ~Copyable {
    private var host: TapeHost
    var events: Int { 0 }

    init(_ recording: Recording) {
        host = TapeHost(recording, faults: .none)
    }

    mutating func run(_ count: Int) -> Int {
        var done = 0
        var idle = 0
        while done < count, idle < TapeHost.patience {
            host.poll()
            idle = host.batch.isEmpty ? idle + 1 : 0
            keep(&host)
            done += host.batch.count
        }
        return done
    }
}
