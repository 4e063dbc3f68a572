/// When a gesture may begin: judged by how the body was held before the movement, not by the movement itself.
public struct GestureGate: Equatable, Sendable, BitwiseCopyable {
    /// Only out of stillness (true) or only while moving (false). Default: either.
    public var still: Bool?

    /// Only with one of these sides up. Default: any.
    public var sides = BodySides.all

    /// Only where the body is tilted from its reference attitude by at least, and at most, this angle, rad.
    /// Defaults: 0 and π.
    public var tiltAbove = 0.0
    public var tiltBelow = Double.pi

    /// Seconds from the beginning of one to the beginning of the next, at least. Default 0.
    public var minimumInterval = 0.0

    /// Makes a gate that is always open.
    public init() {}

    /// Whether it asks for nothing of the posture.
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

/// How the body is held while nobody moves it: what gates are judged by.
struct Posture: Sendable, BitwiseCopyable {
    /// Seconds for which a posture counts once the body has begun to move: a gesture needs no longer to be recognised.
    static let memory = 2.0

    private var up = Vector3(0, 0, 1)
    private var referenceUp = Vector3(0, 0, 1)
    private var stillAt = -Double.infinity
    private var time = 0.0

    /// Takes a cell.
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

    /// Whether `gate` is open for a movement that began `duration` seconds ago.
    func opens(_ gate: GestureGate, duration: Double) -> Bool {
        if gate.ignoresPosture { return true }
        let wasStill = time - stillAt <= duration + 0.5 * Posture.memory
        if let still = gate.still, still != wasStill { return false }
        guard gate.sides.contains(BodySide(nearestTo: up)) else { return false }
        let tilt = up.angle(to: referenceUp)
        return tilt >= gate.tiltAbove && tilt <= gate.tiltBelow
    }
}
