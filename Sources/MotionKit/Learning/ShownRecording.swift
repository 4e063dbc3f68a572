package import MotionCore

/// What a recording shows to `jostle learn`: frames, movements, and the built-in gestures in it.
package struct ShownRecording: Sendable {
    package private(set) var frames: [SampledFrame] = []
    package let movements: ShownMovements
    /// The built-in gestures that began or were recognised in it, but those of every movement.
    package private(set) var gestures: GestureSet = []
    /// Whether a sample was at the end of the sensor's range.
    package private(set) var isClipped = false
    package private(set) var hasRotationRate = false

    /// Reads a recording through the pipeline of the agent.
    package init(path: String, _ settings: MotionSettings) throws(RecordingError) {
        var reader = try RecordingReader(path: path, maximumSamples: ShownRecording.mostSamples)
        var pipeline = MotionPipeline(settings: settings, unknownRanges: reader.unknownRanges)
        pipeline.recordFrames()
        var (frames, gestures) = ([SampledFrame](), GestureSet())
        while let sample = try reader.next() {
            pipeline.process(sample) { event in
                if event.phase == .began || event.phase == .recognized { gestures.formUnion(GestureSet(event.gesture)) }
            }
            if !sample.flags.isDisjoint(with: .clipped) { isClipped = true }
            if sample.flags.contains(.rotationRate) { hasRotationRate = true }
            while let frame = pipeline.takeFrame() { frames.append(frame) }
        }
        self.frames = frames
        self.gestures = gestures.subtracting([.motion, .vibration, .tilt])
        movements = ShownMovements(frames)
    }

    /// A day at 200 Hz.
    private static let mostSamples = 20_000_000
}
