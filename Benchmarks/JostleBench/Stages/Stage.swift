internal import MotionCore

/// A stage that is measured separately.
enum Stage: String, CaseIterable {
    case pipelineAtRest = "pipeline-rest"
    case pipelineInMotion = "pipeline-motion"
    case learned = "pipeline-learned"
    case hotPath = "fifo-to-event"
    case hotPathAtWorst = "fifo-to-event-worst"
    case driver = "driver"
    case kernel = "kernel-to-sample"
    case magnetometer = "magnetometer"
    case attitude = "attitude"
    case gestures = "gestures"
    case ring = "ring"
    case memory = "memory"
    case chip = "virtual-chip"

    /// A short description of the stage.
    var title: String {
        switch self {
        case .pipelineAtRest: "pipeline, board at rest"
        case .pipelineInMotion: "pipeline, board turned and shaken"
        case .learned: "the same, with five learned gestures of five examples"
        case .hotPath: "FIFO bytes -> driver -> pipeline -> event"
        case .hotPathAtWorst: "the same, tilted mounting, clipping, unreliable bus"
        case .driver: "FIFO bytes -> driver -> sample"
        case .kernel: "two kernel devices' frames -> pair -> sample"
        case .magnetometer: "magnetometer's registers -> driver -> reading"
        case .attitude: "attitude filter only"
        case .gestures: "all recognizers, without the attitude filter"
        case .ring: "ring: push and pop of a sample"
        case .memory: "memory of the last seconds: a sample of a batch"
        case .chip: "virtual MPU-6050: generating a sample"
        }
    }

    /// Whether it belongs to the path from the FIFO to the event, on which nothing may be allocated after set-up.
    var allocatesNothing: Bool { self != .chip }

    /// Whether it recognises gestures.
    var recognizesGestures: Bool {
        switch self {
        case .pipelineInMotion, .learned, .hotPath, .hotPathAtWorst, .gestures: true
        case .pipelineAtRest, .driver, .kernel, .magnetometer, .attitude, .ring, .memory, .chip: false
        }
    }

    /// Sets the stage up from scratch.
    func setUp(with material: Material) -> any StageRunner {
        switch self {
        case .pipelineAtRest: Runner(PipelineWork(material.rest))
        case .pipelineInMotion: Runner(PipelineWork(material.movement))
        case .learned: Runner(PipelineWork(material.movement, learning: 5))
        case .hotPath: Runner(HotPathWork(material.movement))
        case .hotPathAtWorst: Runner(HotPathWork.atWorst(material.clipped))
        case .driver: Runner(DriverWork(material.movement))
        case .kernel: Runner(KernelWork())
        case .magnetometer: Runner(MagnetometerWork())
        case .attitude: Runner(AttitudeWork(material.movement))
        case .gestures: Runner(GesturesWork(material.movement))
        case .ring: Runner(RingWork(material.movement))
        case .memory: Runner(MemoryWork(material.movement))
        case .chip: Runner(ChipWork())
        }
    }
}

/// The work of a stage; a new one is created for each measurement.
protocol StageWork: ~Copyable {
    /// Gesture events so far.
    var events: Int { get }

    /// Processes `count` more samples, or a few more.
    ///
    /// - Returns: the number of processed samples; fewer than `count` if there are no more.
    mutating func run(_ count: Int) -> Int
}

/// A type-erased `StageWork`. The dynamic dispatch takes place once per measurement.
protocol StageRunner: AnyObject {
    var events: Int { get }
    func run(_ count: Int) -> Int
}

private final class Runner<Work: StageWork & ~Copyable>: StageRunner {
    private var work: Work

    init(_ work: consuming Work) {
        self.work = work
    }

    var events: Int { work.events }
    func run(_ count: Int) -> Int { work.run(count) }
}

/// Repeats the samples of a recording with advancing timestamps, like a chip that never stops.
struct SampleLoop {
    private let samples: [MotionSample]
    private let roundLength: Int64
    private var index = 0
    private var shift: Int64 = 0

    init(_ recording: Recording) {
        let samples = recording.samples
        let length = samples.last.map { $0.timestamp.seconds(since: samples[0].timestamp) } ?? 0
        self.samples = samples
        roundLength = Timestamp(seconds: length + recording.period).nanoseconds
    }

    mutating func next() -> MotionSample {
        var sample = samples[index]
        sample.timestamp.nanoseconds += shift
        index += 1
        if index == samples.count {
            index = 0
            shift += roundLength
        }
        return sample
    }
}
