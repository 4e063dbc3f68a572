/// A gesture that somebody has shown: what the recognizer needs to know of it.
package struct LearnedGesture: Equatable, Sendable {
    /// The examples, each with a length of `lengths`.
    package var examples: [[MotionFrame]]
    /// The score below which a movement is the gesture.
    package var threshold: Double

    /// Frames of an example: 0.2 to 5 s.
    package static let lengths = 5...125
    /// The number of examples.
    package static let counts = 2...8

    package init(examples: [[MotionFrame]], threshold: Double) {
        self.examples = examples
        self.threshold = threshold
    }
}

/// How a learned gesture is recognised.
package struct LearnedGestureSettings: Equatable, Sendable {
    package var name: GestureName
    package var gesture: LearnedGesture
    package var common = RecognizerSettings(cooldown: LearnedGestureSettings.cooldown)
    /// The gestures that wait while a movement may still become this one, and are dropped if it does. Default: what such
    /// movements often contain.
    package var held = LearnedGestureSettings.usuallyHeld
    /// Distinguishes its events, `GestureEvent.variant`: 0 for those of the program's settings.
    package var variant: UInt16 = 0

    package static let usuallyHeld = GestureSet.flick.union(.turn).union(.tap)

    /// The default, s.
    static var cooldown: Double { 0.5 }

    /// The most gestures, and the most frames of all their examples: a movement is compared with each of them.
    package static let mostGestures = 10
    package static let mostFrames = 2500

    package init(name: GestureName, _ gesture: LearnedGesture) {
        self.name = name
        self.gesture = gesture
    }

    /// The score below which a movement is the gesture: 30 % more at sensitivity 10.
    fileprivate var threshold: Double { gesture.threshold * common.gain(step: 1.054) }
}

/// Learned gestures, prepared for their recognition. Immutable, so that every thread may read it.
package final class LearnedGestures: @unchecked Sendable {
    /// The tempi at which each example is also known, as a share of its own. The path is the same, so rates grow with the
    /// tempo and accelerations with its square.
    private static let tempi: [Float] = [0.75, 1, 1.35]
    static let tempiCount = tempi.count

    struct Member {
        var settings: LearnedGestureSettings
        var threshold: Float
        /// The copies of its examples, by their numbers.
        var copies: Range<Int>
        /// Frames of the shortest and of the longest copy.
        var lengths: ClosedRange<Int>
        /// Frames of its longest example.
        var longest: Int
        /// The gestures of which it is often a part.
        var containers: [Int] = []
    }

    private(set) var members: [Member] = []
    /// The copies' frames, one after the other, and the first of each.
    let frames: FixedBuffer<MotionFrame>
    private(set) var starts: [Int] = []
    /// The sum of squares of each copy.
    private(set) var energies: [Float] = []
    /// The sum of squares up to each frame of each copy.
    let energiesSoFar: FixedBuffer<Float>
    let shapes: ShapeTable
    /// How long another gesture waits for one of these at most, s: as long as the longest takes, and 0.4 s.
    private(set) var longestWait = 0.0

    /// Prepares a gesture that has no name yet.
    convenience init(_ gesture: LearnedGesture) {
        self.init([LearnedGestureSettings(name: GestureName(), gesture)])
    }

    /// Prepares these gestures. It compares each with all others, which takes tenths of a second.
    package init(_ gestures: [LearnedGestureSettings]) {
        var copies: [[MotionFrame]] = []
        for settings in gestures {
            let first = copies.count
            for example in settings.gesture.examples {
                for tempo in LearnedGestures.tempi { copies.append(LearnedGestures.played(example, tempo)) }
            }
            let lengths = copies[first...].map { $0.count }
            members.append(
                Member(
                    settings: settings, threshold: Float(settings.threshold), copies: first..<copies.count,
                    lengths: (lengths.min() ?? 0)...(lengths.max() ?? 0),
                    longest: settings.gesture.examples.map { $0.count }.max() ?? 0))
        }
        var count = 0
        for copy in copies {
            starts.append(count)
            count += copy.count
        }
        starts.append(count)
        frames = FixedBuffer(count: count)
        energiesSoFar = FixedBuffer(count: count)
        shapes = ShapeTable(count: copies.count)
        for (index, copy) in copies.enumerated() {
            var sum: Float = 0
            for (number, frame) in copy.enumerated() {
                frames[starts[index] + number] = frame
                sum += frame.squaredDistance(to: .zero)
                energiesSoFar[starts[index] + number] = sum
            }
            energies.append(sum)
            shapes.set(index, count: copy.count) { copy[$0] }
        }
        longestWait = Double(members.reduce(0) { max($0, $1.longest) } + LearnedRecognizer.patience) / MotionFrame.rate
        if gestures.count > 1 { findNested(gestures) }
    }

    /// The member whose event it is; `nil` if it is that of another gesture.
    func member(of event: GestureEvent) -> Int? {
        guard event.gesture == .learned else { return nil }
        return members.firstIndex { $0.settings.name == event.name && $0.settings.variant == event.variant }
    }

    /// A movement at `tempo` times its tempo.
    private static func played(_ frames: [MotionFrame], _ tempo: Float) -> [MotionFrame] {
        guard tempo != 1 else { return frames }
        let count = max(4, Int((Float(frames.count) / tempo).rounded()))
        let square = tempo * tempo
        let factor = SIMD8<Float>(square, square, square, tempo, tempo, tempo, 0, 0)
        return (0..<count).map { index in
            MotionFrame(values: ShapeTable.value(at: index, of: count, frames.count) { frames[$0] } * factor)
        }
    }

    /// Finds which gestures also occur within others.
    private func findNested(_ gestures: [LearnedGestureSettings]) {
        for (index, gesture) in gestures.enumerated() {
            let alone = LearnedGestures([gesture])
            for (number, other) in gestures.enumerated() where number != index {
                let examples = other.gesture.examples
                var found = 0
                for example in examples {
                    var finder = CandidateFinder(alone)
                    var isFound = false
                    let rest = [MotionFrame](repeating: .zero, count: 16)
                    for frame in rest + example + rest {
                        finder.add(SampledFrame(frame), limit: { _ in Float(gesture.threshold) }) { _ in isFound = true
                        }
                    }
                    if isFound { found += 1 }
                }
                guard found > examples.count / 3 else { continue }
                members[index].containers.append(number)
            }
        }
    }
}
