package import Documents
package import MotionCore

/// The JSON payloads: see docs/mqtt.md. Degrees, °/s, m/s², seconds, °C; `t` is in milliseconds since 1970.
package enum Payloads {
    /// The attitude relative to the reference attitude.
    package static func attitude(_ state: MotionState, at time: Int64) -> JSONObject {
        let attitude = state.relativeAttitude
        let angles = attitude.eulerAngles
        var object = JSONObject()
        object.add("t", time)
        object.add("roll", angles.roll * degreesPerRadian, decimals: 2)
        object.add("pitch", angles.pitch * degreesPerRadian, decimals: 2)
        object.add("yaw", angles.yaw * degreesPerRadian, decimals: 2)
        object.add("q", [attitude.w, attitude.x, attitude.y, attitude.z], decimals: 6)
        object.add("tilt_deviation", state.tiltDeviation, decimals: 1)
        if state.heading != nil {
            // Clockwise from magnetic north, as a compass shows the direction of the x axis.
            let clockwise = -state.attitude.eulerAngles.yaw * degreesPerRadian
            let rounded = (clockwise * 10).rounded() / 10
            object.add("heading", rounded < 0 ? rounded + 360 : rounded, decimals: 1)
        }
        object.add("heading_deviation", state.headingDeviation, decimals: 1)
        object.add("heading_quality", state.heading?.quality.word)
        return object
    }

    /// Linear acceleration, gravity and rotation rate in the body frame.
    package static func motion(_ state: MotionState, at time: Int64) -> JSONObject {
        var object = JSONObject()
        object.add("t", time)
        object.add("acceleration", state.linearAcceleration, decimals: 3)
        object.add("gravity", state.gravity, decimals: 3)
        object.add("rotation", state.rotationRate * degreesPerRadian, decimals: 2)
        object.add("temperature", state.temperature, decimals: 1)
        return object
    }

    /// The device's current state.
    package static func state(_ state: DeviceState, at time: Int64) -> JSONObject {
        var object = JSONObject()
        object.add("t", time)
        object.add("moving", state.isMoving)
        object.add("side", state.side.word)
        object.add("tilt", state.tilt * degreesPerRadian, decimals: 1)
        object.add("vibrating", state.isVibrating)
        object.add("vibration", state.vibration, decimals: 3)
        object.add("simulated", state.isSimulated)
        object.add("stopped", state.isStopped)
        return object
    }

    /// The state of a device whose sensing is stopped and that has not measured anything yet.
    package static func stoppedState(at time: Int64, isSimulated: Bool) -> JSONObject {
        var object = JSONObject()
        object.add("t", time)
        object.add("moving", false)
        object.add("vibrating", false)
        object.add("simulated", isSimulated)
        object.add("stopped", true)
        return object
    }

    /// The fields common to all events; `id` is unique across all devices and all starts of the agent.
    package static func head(id: String, at time: Int64) -> JSONObject {
        var object = JSONObject()
        object.add("id", id)
        object.add("t", time)
        return object
    }

    /// A phase of a gesture.
    package static func event(
        _ event: GestureEvent, id: String, at time: Int64, isSimulated: Bool, recording: String? = nil
    ) -> JSONObject {
        var object = head(id: id, at: time)
        object.add(contentsOf: fields(event, isSimulated: isSimulated, recording: recording))
        return object
    }

    /// A phase of a gesture, without the common fields `id` and `t`. It may name the recording in which the gesture will be.
    package static func fields(_ event: GestureEvent, isSimulated: Bool, recording: String? = nil) -> JSONObject {
        var object = JSONObject()
        object.add("gesture", event.kind.word)
        object.add("phase", event.phase.word)
        object.add("strength", event.strength, decimals: 2)
        object.add("axis", event.axis?.word)
        object.add("reversals", event.reversals.map { Int64($0) })
        object.add("direction", event.direction?.word)
        object.add("side", event.side?.word)
        object.add("from", event.from?.word)
        object.add("to", event.to?.word)
        object.add("count", event.count.map { Int64($0) })
        object.add("angle", event.angle.map { $0 * degreesPerRadian }, decimals: 1)
        object.add("rate", event.rate.map { $0 * degreesPerRadian }, decimals: 1)
        object.add("level", event.level, decimals: 3)
        object.add("frequency", event.frequency, decimals: 2)
        object.add("peak", event.peak, decimals: 3)
        object.add("longest_pause", event.longestPause, decimals: 0)
        object.add("spun", event.hasSpun)
        object.add("height", event.height, decimals: 2)
        object.add("duration", event.duration, decimals: 3)
        object.add("confidence", event.confidence, decimals: 2)
        object.add("reason", event.reason?.word)
        if event.isAdopted { object.add("adopted", true) }
        if isSimulated { object.add("simulated", true) }
        object.add("recording", recording)
        return object
    }
}

/// The part of the motion state that stays until it changes: which side is up, whether the device moves.
package struct DeviceState: Equatable, Sendable {
    package var isMoving: Bool
    package var side: BodySide
    /// Angle from the reference attitude, or from lying flat, rad.
    package var tilt: Double
    package var isVibrating: Bool
    /// The RMS vibration level, m/s².
    package var vibration: Double
    package var isSimulated: Bool
    /// Whether sensing is stopped; the other fields then hold the last state before the stop.
    package var isStopped: Bool

    package init(_ state: MotionState, isSimulated: Bool, isStopped: Bool = false) {
        isMoving = state.isMoving
        side = state.side
        tilt = state.tilt
        isVibrating = state.isVibrating
        vibration = state.vibrationLevel
        self.isSimulated = isSimulated
        self.isStopped = isStopped
    }

    /// Whether anything but tilt and vibration level differs.
    package func differs(from other: DeviceState) -> Bool {
        isMoving != other.isMoving || side != other.side || isVibrating != other.isVibrating
            || isSimulated != other.isSimulated || isStopped != other.isStopped
    }

    /// Whether the tilt differs by at least 2°.
    package func tiltDiffers(from other: DeviceState) -> Bool {
        abs(tilt - other.tilt) >= 2 * radiansPerDegree
    }

    /// Whether the vibration level differs by at least a fifth and 0.04 m/s². The noise of an MPU-6050 at rest makes it
    /// flicker between 0 and about 0.02 m/s².
    package func vibrationDiffers(from other: DeviceState) -> Bool {
        abs(vibration - other.vibration) >= max(0.04, 0.2 * max(vibration, other.vibration))
    }
}

extension Payloads {
    /// A movement that was almost a gesture, and what it lacked.
    package static func nearMiss(_ miss: NearMiss, at time: Int64, isSimulated: Bool) -> JSONObject {
        var object = JSONObject()
        object.add("t", time)
        object.add("gesture", miss.kind.word)
        object.add("reason", miss.reason.word)
        object.add("value", miss.value * miss.unit.factor, decimals: 3)
        object.add("limit", miss.limit * miss.unit.factor, decimals: 3)
        if miss.value.isFinite || miss.limit.isFinite { object.add("unit", miss.unit.symbol) }
        if let example = miss.example { object.add("example", Int64(example + 1)) }
        if let direction = miss.direction { object.add("direction", direction.word) }
        if let precedence = miss.precedence { object.add("precedence", precedence.word) }
        if let gate = miss.gate { object.add("gate", gate.word) }
        object.add("text", miss.explanation)
        if isSimulated || miss.isSimulated { object.add("simulated", true) }
        return object
    }
}

extension NearMiss.Unit {
    /// The contract's symbol; `nil` for a count, a ratio or a score.
    fileprivate var symbol: String? {
        switch self {
        case .one: nil
        case .acceleration: "m/s²"
        case .seconds: "s"
        case .angle: "°"
        case .rate: "°/s"
        }
    }

    /// The contract's unit, as a multiple of the SI unit.
    fileprivate var factor: Double {
        switch self {
        case .one, .acceleration, .seconds: 1
        case .angle, .rate: degreesPerRadian
        }
    }
}

extension NearMiss.Reason {
    /// The reason's contract name.
    package var word: String {
        switch self {
        case .tooWeak: "too_weak"
        case .tooStrong: "too_strong"
        case .tooFewReversals: "too_few_reversals"
        case .tooFewTaps: "too_few_taps"
        case .noQuietBefore: "no_quiet_before"
        case .noQuietAfter: "no_quiet_after"
        case .notAlongOneLine: "not_along_one_line"
        case .tooIrregular: "too_irregular"
        case .tooSlow: "too_slow"
        case .tooQuick: "too_quick"
        case .wrongPace: "wrong_pace"
        case .tooPeaky: "too_peaky"
        case .likeSteps: "like_steps"
        case .notStill: "not_still"
        case .tooShort: "too_short"
        case .tooSmallAngle: "too_small_angle"
        case .notConvincing: "not_convincing"
        case .partOfFall: "part_of_fall"
        case .excluded: "excluded"
        case .tooSoon: "too_soon"
        case .gateClosed: "gate_closed"
        case .setInMotion: "set_in_motion"
        case .notBraked: "not_braked"
        case .otherDirection: "other_direction"
        case .tilted: "tilted"
        case .notVertical: "not_vertical"
        }
    }
}

extension NearMiss.GateCondition {
    /// The condition's contract name: its key in `when`.
    fileprivate var word: String {
        switch self {
        case .still, .moving: "still"
        case .side: "side"
        case .tiltAbove: "tilt_above"
        case .tiltBelow: "tilt_below"
        case .quietHours: "quiet_hours"
        }
    }
}

extension MotionState {
    /// The standard deviation of the tilt, °; `nil` if it is not known.
    package var tiltDeviation: Double? { deviation.map { $0.tilt * degreesPerRadian } }

    /// The standard deviation of the heading, °: against north with a magnetometer, otherwise against the start.
    package var headingDeviation: Double? {
        (heading?.deviation ?? deviation?.heading).map { $0 * degreesPerRadian }
    }
}

extension JSONObject {
    /// Adds an array of vectors, each an array of three, or nothing if a component is not finite.
    package mutating func add(_ name: String, _ vectors: [Vector3], decimals: Int) {
        add(name, vectors.map { [$0.x, $0.y, $0.z] }, decimals: decimals)
    }

    /// Adds a vector as an array of three numbers.
    package mutating func add(_ name: String, _ vector: Vector3, decimals: Int) {
        add(name, [vector.x, vector.y, vector.z], decimals: decimals)
    }
}
