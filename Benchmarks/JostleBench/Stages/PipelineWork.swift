internal import MotionCore

/// Samples through the whole pipeline.
struct PipelineWork: StageWork, ~Copyable {
    private var samples: SampleLoop
    private var pipeline = MotionPipeline()
    private(set) var events = 0

    init(_ recording: Recording) {
        samples = SampleLoop(recording)
    }

    /// With so many learned gestures of as many examples each: parts of the recording, 1.4 s long, so that movement comes near
    /// them.
    init(_ recording: Recording, learning count: Int) {
        self.init(recording)
        pipeline.recordFrames()
        var frames: [MotionFrame] = []
        for sample in recording.samples {
            pipeline.process(sample) { _ in }
            while let frame = pipeline.takeFrame() { frames.append(frame.frame) }
        }
        let moving = MotionFrame.stretches(frames).flatMap { $0 }
        let length = 35
        let examples = (0..<count * count).map { number in
            let start = number * max(1, moving.count - length) / (count * count)
            return Array(moving[start..<min(start + length, moving.count)])
        }
        let gestures = (0..<count).compactMap { number in
            GestureName(utf8: [UInt8(ascii: "a") + UInt8(number)]).map { name in
                LearnedGestureSettings(
                    name: name,
                    LearnedGesture(examples: Array(examples[count * number..<count * (number + 1)]), threshold: 0.3))
            }
        }
        pipeline = MotionPipeline()
        pipeline.apply(LearnedGestures(gestures))
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
