/// Conditions under which a gesture may begin. They apply to the posture before the movement, not to the movement
/// itself.
public struct GestureGate: Equatable, Sendable, BitwiseCopyable {
    /// Require that the body was still (true) or moving (false) before the gesture; `nil` allows both. Default `nil`.
    public var still: Bool?

    /// The sides of which one must point up. Default: all; fewer sides restrict the gesture to these postures.
    public var sides = BodySides.all

    /// Smallest and largest tilt from the reference attitude at which the gesture may begin, rad. Defaults 0 and π: any
    /// tilt. A larger `tiltAbove` or a smaller `tiltBelow` narrows the range.
    public var tiltAbove = 0.0
    public var tiltBelow = Double.pi

    /// Smallest time between the beginnings of two gestures, s. Default 0. Larger drops more of a quick succession.
    public var minimumInterval = 0.0

    /// Creates a gate that is always open.
    public init() {}

    /// Whether the gate does not depend on the posture.
    var ignoresPosture: Bool {
        still == nil && sides == .all && tiltAbove <= 0 && tiltBelow >= .pi
    }
}

/// A set of sides of the body.
public struct BodySides: OptionSet, Sendable, BitwiseCopyable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The set of one side.
    public init(_ side: BodySide) {
        rawValue = 1 << side.rawValue
    }

    /// Every side.
    public static let all = BodySides(rawValue: 0b11_1111)

    /// Whether the side is a member.
    public func contains(_ side: BodySide) -> Bool {
        rawValue & (1 << side.rawValue) != 0
    }
}

/// The posture of the body while it is not being moved: what gates are checked against.
struct Posture: Sendable, BitwiseCopyable {
    /// Seconds for which the posture before a movement stays valid: no gesture takes longer to be recognised.
    static let memory = 2.0

    private var up = Vector3(0, 0, 1)
    private var referenceUp = Vector3(0, 0, 1)
    private var stillAt = -Double.infinity
    private var time = 0.0

    /// Updates the posture with a cell.
    mutating func update(_ cell: GestureCell) {
        time = cell.time
        referenceUp = cell.sample.referenceUp
        if !cell.sample.isMoving {
            stillAt = time
            up = cell.sample.gravity
        } else if time - stillAt > Posture.memory {
            up = cell.sample.gravity
        }
    }

    /// The condition of `gate` that a movement which began `duration` seconds ago does not meet; `nil` if it is open.
    func obstacle(to gate: GestureGate, duration: Double) -> NearMiss.GateCondition? {
        if gate.ignoresPosture { return nil }
        let wasStill = time - stillAt <= duration + 0.5 * Posture.memory
        if let still = gate.still, still != wasStill { return still ? .still : .moving }
        guard gate.sides.contains(BodySide(nearestTo: up)) else { return .side }
        let tilt = self.tilt
        return tilt < gate.tiltAbove ? .tiltAbove : tilt > gate.tiltBelow ? .tiltBelow : nil
    }

    /// The angle from the reference attitude, rad.
    var tilt: Double { up.angle(to: referenceUp) }
}
