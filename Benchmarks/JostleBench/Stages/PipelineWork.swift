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

/// Samples through the attitude filter only.
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

/// Samples through all recognizers, without the attitude filter.
struct GesturesWork: StageWork, ~Copyable {
    private var samples: SampleLoop
    private var recognizers = GestureRecognizers(settings: GestureSettings())
    private let period: Double
    private(set) var events = 0

    init(_ recording: Recording) {
        samples = SampleLoop(recording)
        period = recording.period
    }

    mutating func run(_ count: Int) -> Int {
        var events = 0
        for _ in 0..<count {
            let sample = samples.next()
            var input = GestureSample(
                timestamp: sample.timestamp, interval: period, acceleration: sample.acceleration)
            input.rotationRate = sample.rotationRate
            input.hasRotationRate = true
            recognizers.update(input) { event in
                events += 1
                keep(event)
            }
            keep(&recognizers)
        }
        self.events += events
        return count
    }
}
