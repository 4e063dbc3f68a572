/// What learned gestures are compared by, 25 times a second: linear acceleration and rotation rate along the body's axes.
///
/// The unit is 5 m/s² and 3 rad/s, so that both count alike in ordinary movement. Values are multiples of 1/512: the same on
/// every processor, and in the text of a template.
package struct MotionFrame: Sendable, Equatable, BitwiseCopyable {
    /// Frames a second.
    package static let rate = 25.0
    /// Steps in a unit.
    static let steps: Float = 512
    /// m/s² and rad/s in a unit.
    static let acceleration = 5.0
    static let rotationRate = 3.0

    /// Three of acceleration, three of rotation rate, two zeros.
    var values: SIMD8<Float>

    package static let zero = MotionFrame(values: .zero)

    /// The sum of the squares of the differences, added in a fixed order.
    @inline(__always)
    func squaredDistance(to other: MotionFrame) -> Float {
        let difference = values - other.values
        let squares = difference * difference
        let halves = squares.lowHalf + squares.highHalf
        return (halves[0] + halves[2]) + (halves[1] + halves[3])
    }

    /// The square of the rotation rate.
    var squaredRate: Float { (values[3] * values[3] + values[4] * values[4]) + values[5] * values[5] }

    /// How much moves: the length of the vector.
    package var energy: Float { squaredDistance(to: .zero).squareRoot() }

    /// The linear acceleration, m/s², and the rotation rate, rad/s.
    package var measuredAcceleration: Vector3 {
        MotionFrame.acceleration * Vector3(Double(values[0]), Double(values[1]), Double(values[2]))
    }
    package var measuredRate: Vector3 {
        MotionFrame.rotationRate * Vector3(Double(values[3]), Double(values[4]), Double(values[5]))
    }

    /// Steps in a unit, of the numbers in a template and of those of everyday movement.
    private static let encodedSteps: Float = 64
    private static let packedSteps: Float = 32

    /// The numbers of a template.
    package var encoded: [Int16] {
        (0..<6).map { Int16(clamping: Int32(MotionFrame.rounded(values[$0] * MotionFrame.encodedSteps))) }
    }

    package init(encoded: some Collection<Int16>) {
        values = .zero
        for (index, number) in encoded.enumerated() { values[index] = Float(number) / MotionFrame.encodedSteps }
    }

    /// The numbers of everyday movement, which need less exactness.
    package var packed: [Int8] {
        (0..<6).map { Int8(clamping: Int32(MotionFrame.rounded(values[$0] * MotionFrame.packedSteps))) }
    }

    package init(packed: some Collection<Int8>) {
        values = .zero
        for (index, number) in packed.enumerated() { values[index] = Float(number) / MotionFrame.packedSteps }
    }

    /// The stretches of frames in which something moves, with the rest before them by which a movement is judged.
    package static func stretches(_ frames: [MotionFrame]) -> [[MotionFrame]] {
        var stretches: [[MotionFrame]] = []
        var start: Int?
        var last = 0
        for index in frames.indices {
            if frames[index].energy > CandidateFinder.rest {
                last = index
                if start == nil { start = max(0, index - CandidateFinder.restFrames) }
            }
            guard let first = start, index - last > CandidateFinder.restFrames || index == frames.count - 1 else {
                continue
            }
            stretches.append(Array(frames[first...index]))
            start = nil
        }
        return stretches
    }

    init(values: SIMD8<Float>) {
        self.values = values
    }

    /// What a cell shows, without the low-pass.
    init(of cell: GestureCell) {
        let force = (cell.acceleration - cell.sample.gravity) * (1 / MotionFrame.acceleration)
        let rate = cell.rotationRate * (1 / MotionFrame.rotationRate)
        values = SIMD8(
            Float(force.x), Float(force.y), Float(force.z), Float(rate.x), Float(rate.y), Float(rate.z), 0, 0)
    }

    /// The nearest frame with whole steps.
    var quantised: MotionFrame {
        var result = MotionFrame.zero
        for index in 0..<6 {
            let step = min(max(values[index] * MotionFrame.steps, -32767), 32767)
            result.values[index] = MotionFrame.rounded(step) / MotionFrame.steps
        }
        return result
    }

    private static func rounded(_ value: Float) -> Float { Float(Int32(value + (value < 0 ? -0.5 : 0.5))) }
}

/// A frame as the sampler made it.
package struct SampledFrame: Sendable, BitwiseCopyable {
    package var frame: MotionFrame
    /// Whether force and rate hardly change: the body rests, or turns slowly.
    package var isSteady: Bool

    package init(_ frame: MotionFrame, isSteady: Bool = false) {
        self.frame = frame
        self.isSteady = isSteady
    }
}

/// Makes frames of the cells of the grid: a low-pass of 6 Hz, then every second cell.
struct FrameSampler: Sendable, BitwiseCopyable {
    /// The squares of the change of the specific force from frame to frame and of the rotation rate below which the body is
    /// steady.
    private static let change: Float = 0.04 * 0.04
    private static let turning: Float = 0.20 * 0.20

    private var movement = Butterworth<SIMD8<Float>>()
    private var force = Butterworth<SIMD4<Float>>()
    private var lastForce = SIMD4<Float>.zero
    private var hasStarted = false
    private var isSecond = false

    /// A Butterworth filter of second order at 6 Hz for cells of 20 ms. k = tan(π · 6 Hz · 20 ms).
    struct Butterworth<Value: SIMD & Sendable & BitwiseCopyable>: Sendable, BitwiseCopyable
    where Value.Scalar == Float {
        private var inputs = (Value.zero, Value.zero)
        private var outputs = (Value.zero, Value.zero)

        mutating func start(_ input: Value) {
            inputs = (input, input)
            outputs = (input, input)
        }

        mutating func update(_ input: Value) -> Value {
            let sum = (input + inputs.1) + inputs.0 * 2
            let output = sum * 0.091_314_900 + outputs.0 * 0.982_405_793 - outputs.1 * 0.347_665_395
            inputs = (input, inputs.0)
            outputs = (output, outputs.0)
            return output
        }
    }

    /// Adds a cell; returns a frame after every second one.
    mutating func add(_ cell: GestureCell) -> SampledFrame? {
        let specific = cell.acceleration * (1 / MotionFrame.acceleration)
        let input = MotionFrame(of: cell).values
        let forceInput = SIMD4<Float>(Float(specific.x), Float(specific.y), Float(specific.z), 0)
        if !hasStarted {
            movement.start(input)
            force.start(forceInput)
            hasStarted = true
            isSecond = true
        }
        let output = movement.update(input)
        let forceOutput = force.update(forceInput)
        isSecond.toggle()
        guard !isSecond else { return nil }
        let change = forceOutput - lastForce
        let squares = change * change
        lastForce = forceOutput
        let frame = MotionFrame(values: output).quantised
        let isSteady =
            (squares[0] + squares[1]) + squares[2] < FrameSampler.change && frame.squaredRate < FrameSampler.turning
        return SampledFrame(frame, isSteady: isSteady)
    }

    /// Begins again with the next cell.
    mutating func reset() { self = FrameSampler() }
}

/// The last ten seconds of frames, and the movements between rests in them.
///
/// After violent movement the attitude may be off by some degrees for seconds, so that a body at rest seems to accelerate. What
/// does not change is rest, too: the acceleration there is the zero from then on.
struct FrameHistory: ~Copyable {
    /// A power of two: an index wraps with a mask.
    static let capacity = 256
    private static let mask = capacity - 1
    /// Frames without movement that end one: 0.24 s.
    private static let hold = 6
    /// The energy at which a movement begins, and below which it has stopped.
    private static let onset: Float = 0.30
    private static let stop: Float = 0.20
    /// Frames by which the beginning may lie before that.
    private static let earlier = 5

    private let frames = FixedBuffer<MotionFrame>(repeating: .zero, count: capacity)
    private let energies = FixedBuffer<Float>(repeating: 0, count: capacity)
    /// The frames so far, and the first of those that follow each other.
    private(set) var count = 0
    private(set) var first = 0
    private var zero = SIMD8<Float>.zero
    private var steady = 0
    /// Whether a movement is in progress, where it began and its last frame.
    private(set) var isMoving = false
    var movementStart: Int { start }
    private var start = 0
    private var lastMoving = 0

    func frame(_ index: Int) -> MotionFrame { frames[index & FrameHistory.mask] }
    func energy(_ index: Int) -> Float { energies[index & FrameHistory.mask] }

    /// What follows is not the continuation of what was.
    mutating func interrupt() {
        first = count
        isMoving = false
        steady = 0
        zero = .zero
    }

    /// Adds a frame; returns a movement that ends with it.
    mutating func add(_ sampled: SampledFrame) -> Range<Int>? {
        let frame = sampled.frame
        steady = sampled.isSteady && count > first ? steady + 1 : 0
        if steady >= FrameHistory.hold {
            zero = frame.values
            zero.highHalf = .zero
            zero[3] = 0
            if steady == FrameHistory.hold {
                for index in max(first, count - FrameHistory.hold)..<count {
                    set(index, MotionFrame(values: self.frame(index).values - zero))
                }
            }
        }
        let index = count
        set(index, MotionFrame(values: frame.values - zero))
        count += 1
        return follow(index)
    }

    private func set(_ index: Int, _ frame: MotionFrame) {
        frames[index & FrameHistory.mask] = frame
        energies[index & FrameHistory.mask] = frame.energy
    }

    private mutating func follow(_ index: Int) -> Range<Int>? {
        guard isMoving else {
            guard energy(index) > FrameHistory.onset else { return nil }
            isMoving = true
            start = index
            lastMoving = index
            while start > first, index - start < FrameHistory.earlier, energy(start - 1) > FrameHistory.stop {
                start -= 1
            }
            return nil
        }
        if energy(index) > FrameHistory.stop { lastMoving = index }
        if steady >= FrameHistory.hold { lastMoving = min(lastMoving, index - FrameHistory.hold) }
        guard index - lastMoving >= FrameHistory.hold else { return nil }
        isMoving = false
        return start..<max(start, lastMoving) + 1
    }
}

/// Keeps the frames of a recording, from which gestures are learned.
struct FrameRecorder: ~Copyable {
    /// More than a sample can complete: the longest gap that is interpolated has 12.
    private static let capacity = 16

    private var sampler = FrameSampler()
    private let frames = FixedBuffer(repeating: SampledFrame(.zero), count: capacity)
    private var added = 0
    private var taken = 0

    mutating func add(_ cell: GestureCell) {
        guard let frame = sampler.add(cell), added - taken < FrameRecorder.capacity else { return }
        frames[added % FrameRecorder.capacity] = frame
        added += 1
    }

    /// Removes and returns the oldest frame.
    mutating func take() -> SampledFrame? {
        guard taken < added else { return nil }
        defer { taken += 1 }
        return frames[taken % FrameRecorder.capacity]
    }

    mutating func reset() { sampler.reset() }
}
