/// An axis of the body frame.
public enum BodyAxis: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case x
    case y
    case z

    /// The axis with the largest component of `direction`.
    @inlinable
    public init(dominantIn direction: Vector3) {
        let x = abs(direction.x)
        let y = abs(direction.y)
        let z = abs(direction.z)
        self = x >= y && x >= z ? .x : y >= z ? .y : .z
    }
}

/// A side of the body: the axis, with its sign, that points up.
public enum BodySide: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case plusX
    case minusX
    case plusY
    case minusY
    case plusZ
    case minusZ

    /// The side whose axis is nearest to `direction`.
    @inlinable
    public init(nearestTo direction: Vector3) {
        switch BodyAxis(dominantIn: direction) {
        case .x: self = direction.x < 0 ? .minusX : .plusX
        case .y: self = direction.y < 0 ? .minusY : .plusY
        case .z: self = direction.z < 0 ? .minusZ : .plusZ
        }
    }

    /// The axis of the body that points out of this side.
    public var direction: Vector3 {
        switch self {
        case .plusX: Vector3(1, 0, 0)
        case .minusX: Vector3(-1, 0, 0)
        case .plusY: Vector3(0, 1, 0)
        case .minusY: Vector3(0, -1, 0)
        case .plusZ: Vector3(0, 0, 1)
        case .minusZ: Vector3(0, 0, -1)
        }
    }
}
