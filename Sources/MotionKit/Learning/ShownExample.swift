package import MotionCore

/// What somebody shows between two rests, or in a recording: movements, and what else there is to know of them.
package struct ShownExample: Sendable {
    package var movements: ShownMovements
    /// The built-in gestures that began or were recognised, but those of every movement.
    package var gestures: GestureSet = []
    /// The learned gestures that were recognised, and the last one that almost was.
    package var learned: [GestureEvent] = []
    package var almost: LearnedMiss?
    /// Whether a sample was at the end of the sensor's range.
    package var isClipped = false
    package var hasRotationRate = false

    package init(_ movements: ShownMovements = ShownMovements(movements: [])) {
        self.movements = movements
    }

    /// An example of which nothing else is known.
    package init(movement: [MotionFrame]) {
        movements = ShownMovements(movements: [movement])
    }

    /// The movement that is the example.
    var movement: [MotionFrame] { movements.movements.first ?? [] }

    /// Reads a recording through the pipeline of the agent.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - settings: those of the agent.
    ///   - known: the gestures that are learned already.
    /// - Throws: why the recording cannot be read.
    package init(
        path: String, _ settings: MotionSettings, known: [GestureTemplate] = []
    ) throws(RecordingError) {
        var reader = try ExampleReader.read(path, settings, known: known)
        self = reader.take()
    }
}

/// Puts samples through the pipeline of the agent, and finds in them what somebody shows.
package struct ExampleReader: ~Copyable {
    private var pipeline: MotionPipeline
    private var collector = MovementCollector()
    /// What was found since the last `take`, but the movements.
    private var found = ShownExample()
    private let keepsFrames: Bool
    /// The frames, if they are kept.
    package private(set) var frames: [SampledFrame] = []

    /// A day at 200 Hz.
    private static let mostSamples = 20_000_000

    /// - Parameters:
    ///   - settings: those of the agent.
    ///   - calibration: the errors of the chip.
    ///   - unknownRanges: the sensors whose ranges are unknown.
    ///   - known: the gestures that are learned already.
    ///   - keepsFrames: whether `frames` has them.
    package init(
        _ settings: MotionSettings, calibration: ChipCalibration = ChipCalibration(), unknownRanges: UnknownRanges = [],
        known: [GestureTemplate] = [], keepsFrames: Bool = false
    ) {
        var pipeline = MotionPipeline(settings: settings, calibration: calibration, unknownRanges: unknownRanges)
        pipeline.recordFrames()
        pipeline.recognise(known)
        self.pipeline = pipeline
        self.keepsFrames = keepsFrames
    }

    /// Reads a recording.
    package static func read(
        _ path: String, _ settings: MotionSettings, known: [GestureTemplate] = [], keepsFrames: Bool = false
    ) throws(RecordingError) -> ExampleReader {
        var recording = try RecordingReader(path: path, maximumSamples: mostSamples)
        var reader = ExampleReader(
            settings, unknownRanges: recording.unknownRanges, known: known, keepsFrames: keepsFrames)
        while let sample = try recording.next() { reader.add(sample) }
        return reader
    }

    /// Recognises these learned gestures from now on, and explains what is almost one.
    package mutating func recognise(_ known: [GestureTemplate]) { pipeline.recognise(known) }

    /// Whether a movement is in progress, and whether one has ended since the last `take`.
    package var isMoving: Bool { collector.isMoving }
    package var hasMoved: Bool { collector.hasMoved }

    /// For how long it has been moving, or resting, s.
    package var seconds: Double { collector.seconds }

    package mutating func add(_ sample: MotionSample) {
        var gestures = GestureSet()
        var learned: GestureEvent?
        pipeline.process(sample) { event in
            if event.phase == .began || event.phase == .recognized { gestures.formUnion(GestureSet(event.gesture)) }
            if event.gesture == .learned { learned = event }
        }
        found.gestures.formUnion(gestures.subtracting([.motion, .vibration, .tilt, .learned]))
        if let learned { found.learned.append(learned) }
        if let miss = pipeline.takeLearnedMiss() { found.almost = miss }
        if !sample.flags.isDisjoint(with: .clipped) { found.isClipped = true }
        if sample.flags.contains(.rotationRate) { found.hasRotationRate = true }
        while let frame = pipeline.takeFrame() {
            collector.add(frame)
            if keepsFrames { frames.append(frame) }
        }
    }

    /// Removes and returns what was shown so far.
    package mutating func take() -> ShownExample {
        defer { found = ShownExample() }
        found.movements = collector.take()
        return found
    }

    /// What follows is not the continuation of what was.
    package mutating func interrupt() {
        collector.interrupt()
        found = ShownExample()
    }
}

extension MotionPipeline {
    fileprivate mutating func recognise(_ known: [GestureTemplate]) {
        guard !known.isEmpty else { return }
        explainsNearMisses = true
        apply(LearnedGestures(known.map { LearnedGestureSettings($0) }))
    }
}
