internal import MotionCore

/// What is measured by itself.
enum Stage: String, CaseIterable {
    case pipelineAtRest = "pipeline-rest"
    case pipelineInMotion = "pipeline-motion"
    case hotPath = "fifo-to-event"
    case hotPathAtWorst = "fifo-to-event-worst"
    case driver = "driver"
    case kernel = "kernel-to-sample"
    case attitude = "attitude"
    case gestures = "gestures"
    case ring = "ring"
    case chip = "virtual-chip"

    /// What it does with a sample, in a few words.
    var title: String {
        switch self {
        case .pipelineAtRest: "pipeline, the board lies still"
        case .pipelineInMotion: "pipeline, the board is turned and shaken"
        case .hotPath: "FIFO bytes -> driver -> pipeline -> event"
        case .hotPathAtWorst: "the same mounted askew, clipping, on a bad bus"
        case .driver: "FIFO bytes -> driver -> sample"
        case .kernel: "two kernel devices' frames -> pair -> sample"
        case .attitude: "attitude filter alone"
        case .gestures: "all recognizers, without the attitude filter"
        case .ring: "ring: push and pop of a sample"
        case .chip: "virtual MPU-6050: a sample of its own"
        }
    }

    /// Whether it belongs to the way from the FIFO to the event, on which nothing may be allocated after set-up.
    var allocatesNothing: Bool { self != .chip }

    /// Whether gestures come of it.
    var recognizesGestures: Bool {
        switch self {
        case .pipelineInMotion, .hotPath, .hotPathAtWorst, .gestures: true
        case .pipelineAtRest, .driver, .kernel, .attitude, .ring, .chip: false
        }
    }

    /// Sets the stage up; it begins with no past.
    func setUp(with material: Material) -> any StageRunner {
        switch self {
        case .pipelineAtRest: Runner(PipelineWork(material.rest))
        case .pipelineInMotion: Runner(PipelineWork(material.movement))
        case .hotPath: Runner(HotPathWork(material.movement))
        case .hotPathAtWorst: Runner(HotPathWork.atWorst(material.clipped))
        case .driver: Runner(DriverWork(material.movement))
        case .kernel: Runner(KernelWork())
        case .attitude: Runner(AttitudeWork(material.movement))
        case .gestures: Runner(GesturesWork(material.movement))
        case .ring: Runner(RingWork(material.movement))
        case .chip: Runner(ChipWork())
        }
    }
}

/// What is done with samples; one is set up for each measurement.
protocol StageWork: ~Copyable {
    /// Events of gestures that came of it so far.
    var events: Int { get }

    /// Goes on with `count` samples or a few more.
    ///
    /// - Returns: how many it were; fewer than `count` where no more came.
    mutating func run(_ count: Int) -> Int
}

/// A `StageWork` of whatever type: the dynamic dispatch happens once a measurement.
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

/// Samples of a recording again and again, each time later, as a chip that never stops gives them.
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
