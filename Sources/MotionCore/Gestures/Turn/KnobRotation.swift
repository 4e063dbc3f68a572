internal import CMotionMath

/// A rotation about the vertical from rest: how far it has gone, and how far it strays from the vertical.
///
/// The vertical is that of the body before it. The angle is the twist about it of the change of attitude since, so that
/// it is right whatever the mounting; it continues beyond a full turn.
struct KnobRotation: Sendable, BitwiseCopyable {
    /// Rate below which a rotation has stopped, rad/s, and the seconds below it after which it is over.
    static let stopRate = 3 * radiansPerDegree
    static let stopTime = 0.2

    /// Rate below which the body is at rest, rad/s: a wrist at rest is hardly ever as still as that.
    static let restRate = 1.5 * radiansPerDegree

    /// Of the low-pass of the acceleration (time constant 0.1 s): the share of a cell. And how far, m, the sensor may be
    /// from the centre of the rotation.
    private static let pushShare = 0.2
    private static let radius = 0.06

    /// How far a rotation may go back before it counts as going back, rad.
    static let backlash = 4 * radiansPerDegree

    /// The unit vector in the body that pointed up.
    private let up: Vector3
    /// The body axis nearest to it, and +1 or −1 if this axis pointed up or down.
    let axis: BodyAxis
    let sign: Double

    /// The specific force at its beginning, and the change of it since then in the frame of that body, without quick jolts, m/s².
    private let force: Vector3
    private var push = Vector3.zero
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
    /// The largest acceleration, m/s², beyond that of a body which rotates about a point nearby.
    private(set) var largestPush = 0.0
    /// Seconds since it began, and of stillness since its last movement.
    private(set) var elapsed = 0.0
    private(set) var stillness = 0.0
    private var lastMovement = 0.0
    /// Seconds of rest since then: it is stiller than when a rotation has merely stopped.
    private(set) var rest = 0.0

    /// A rotation that begins in a cell with these rates, rad/s, and this specific force, m/s²; `gravity` points up at
    /// the cell's end.
    init(gravity: Vector3, rates: Vector3, force: Vector3) {
        self.force = force
        up = Quaternion.identity.turned(by: rates * CellGrid.cell).rotate(gravity).normalized ?? Vector3(0, 0, 1)
        axis = BodyAxis(dominantIn: up)
        let component = axis == .x ? up.x : axis == .y ? up.y : up.z
        sign = component < 0 ? -1 : 1
    }

    /// Whether it has come to rest. Before it has moved faster than when it has stopped, it may only be slow.
    var isResting: Bool { (lastMovement > 0 ? stillness : rest) >= KnobRotation.stopTime - 1e-9 }

    /// Seconds from its beginning to its last movement.
    var duration: Double { lastMovement > 0 ? lastMovement : elapsed - rest }

    /// Whether it has gone back by more than the backlash.
    var isBack: Bool { farthest - abs(angle) > KnobRotation.backlash }

    /// The angle between its axis and the vertical, rad.
    var astray: Double { atan2(across, along) }

    /// Processes the rates, rad/s, and the specific force, m/s², in a cell.
    mutating func update(_ rates: Vector3, _ acceleration: Vector3) {
        let vertical = attitude.unrotate(up)
        rate = rates.dot(vertical)
        along += abs(rate) * CellGrid.cell
        across += (rates - vertical * rate).length * CellGrid.cell
        attitude = attitude.turned(by: rates * CellGrid.cell)
        push += (attitude.rotate(acceleration) - force - push) * KnobRotation.pushShare
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
        largestPush = max(largestPush, push.length - KnobRotation.radius * peak * peak)
        elapsed += CellGrid.cell
        rest = KnobRotation.isStill(rates, below: KnobRotation.restRate) ? rest + CellGrid.cell : 0
        if KnobRotation.isStill(rates, below: KnobRotation.stopRate) {
            stillness += CellGrid.cell
        } else {
            stillness = 0
            lastMovement = elapsed
        }
    }

    /// Whether the rates about all axes, rad/s, are below a limit.
    static func isStill(_ rates: Vector3, below limit: Double) -> Bool {
        max(abs(rates.x), max(abs(rates.y), abs(rates.z))) < limit
    }
}
