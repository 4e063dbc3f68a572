internal import CMotionMath

/// A rotation about the vertical from rest: how far it has gone, and how far it strays from the vertical.
///
/// The vertical is that of the body before it. The angle is the twist about it of the change of attitude since, so that
/// it is right whatever the mounting; it continues beyond a full turn.
struct KnobRotation: Sendable, BitwiseCopyable {
    /// Rate below which the body is still, rad/s, and the seconds below it after which a rotation is over.
    static let restRate = 3 * radiansPerDegree
    static let restTime = 0.2

    /// How far a rotation may go back before it counts as going back, rad.
    static let backlash = 4 * radiansPerDegree

    /// The unit vector in the body that pointed up.
    private let up: Vector3
    /// The body axis nearest to it, and +1 or −1 if this axis pointed up or down.
    let axis: BodyAxis
    let sign: Double

    /// The change of attitude, integrated from the rates alone.
    private var attitude = Quaternion.identity
    /// The integrals of the magnitude of the rate along and across the vertical, rad.
    private var along = 0.0
    private var across = 0.0

    /// The angle about the vertical, rad, and the largest magnitude that it has had.
    private(set) var angle = 0.0
    private(set) var farthest = 0.0
    /// The angle between the vertical in the body and what it was, rad, and the largest that it has been.
    private(set) var tilt = 0.0
    private(set) var largestTilt = 0.0
    /// The rate about the vertical, and the one with the largest magnitude so far, rad/s.
    private(set) var rate = 0.0
    private(set) var peak = 0.0
    /// Seconds since it began, up to its last movement, and of stillness since then.
    private(set) var elapsed = 0.0
    private(set) var duration = 0.0
    private(set) var stillness = 0.0

    /// A rotation that begins in a cell with rotation by `first`, rad; `gravity` points up at the cell's end.
    init(gravity: Vector3, first: Vector3) {
        up = Quaternion.identity.turned(by: first).rotate(gravity).normalized ?? Vector3(0, 0, 1)
        axis = BodyAxis(dominantIn: up)
        let component = axis == .x ? up.x : axis == .y ? up.y : up.z
        sign = component < 0 ? -1 : 1
    }

    /// Whether it has come to rest.
    var isResting: Bool { stillness >= KnobRotation.restTime - 1e-9 }

    /// Whether it has gone back by more than the backlash.
    var isBack: Bool { farthest - abs(angle) > KnobRotation.backlash }

    /// The angle between its axis and the vertical, rad.
    var astray: Double { atan2(across, along) }

    /// Processes the rates in a cell, rad/s.
    mutating func update(_ rates: Vector3) {
        let vertical = attitude.unrotate(up)
        rate = rates.dot(vertical)
        along += abs(rate) * CellGrid.cell
        across += (rates - vertical * rate).length * CellGrid.cell
        attitude = attitude.turned(by: rates * CellGrid.cell)
        let component = attitude.x * up.x + attitude.y * up.y + attitude.z * up.z
        let cosine = 2 * (component * component + attitude.w * attitude.w) - 1
        tilt = acos(max(-1, min(1, cosine)))
        largestTilt = max(largestTilt, tilt)
        let estimate = angle + rate * CellGrid.cell
        // Upside down, the twist is undefined.
        if cosine > -0.9 {
            let twist = 2 * atan2(component, attitude.w)
            angle = twist + 2 * .pi * ((estimate - twist) / (2 * .pi)).rounded()
        } else {
            angle = estimate
        }
        farthest = max(farthest, abs(angle))
        if abs(rate) > abs(peak) { peak = rate }
        elapsed += CellGrid.cell
        if KnobRotation.isStill(rates) {
            stillness += CellGrid.cell
        } else {
            stillness = 0
            duration = elapsed
        }
    }

    /// Whether all rates, rad/s, are those of a body at rest.
    static func isStill(_ rates: Vector3, below limit: Double = KnobRotation.restRate) -> Bool {
        max(abs(rates.x), max(abs(rates.y), abs(rates.z))) < limit
    }
}
