internal import MotionCore

/// Samples through the whole pipeline.
struct PipelineWork: StageWork, ~Copyable {
    private var samples: SampleLoop
    private var pipeline = MotionPipeline()
    private(set) var events = 0

    init(_ recording: Recording) {
        samples = SampleLoop(recording)
    }

    mutating func run(_ count: Int) -> Int {
        var events = 0
        for _ in 0..<count {
            pipeline.process(samples.next()) { event in
                events += 1
                keep(event)
            }
            keep(&pipeline)
        }
        self.events += events
        return count
    }
}

/// Samples through the attitude filter alone.
struct AttitudeWork: StageWork, ~Copyable {
    private var samples: SampleLoop
    private var filter = AttitudeFilter()
    private let period: Double
    var events: Int { 0 }

    init(_ recording: Recording) {
        samples = SampleLoop(recording)
        period = recording.period
    }

    mutating func run(_ count: Int) -> Int {
        for _ in 0..<count {
            filter.update(samples.next(), interval: period)
            keep(&filter)
        }
        return count
    }
}

/// Accelerations through the shake recognizer alone.
struct ShakeWork: StageWork, ~Copyable {
    private var samples: SampleLoop
    private var recognizer = ShakeRecognizer()
    private(set) var events = 0

    init(_ recording: Recording) {
        samples = SampleLoop(recording)
    }

    mutating func run(_ count: Int) -> Int {
        var events = 0
        for _ in 0..<count {
            let sample = samples.next()
            recognizer.update(sample.acceleration, at: sample.timestamp) { event in
                events += 1
                keep(event)
            }
            keep(&recognizer)
        }
        self.events += events
        return count
    }
}
