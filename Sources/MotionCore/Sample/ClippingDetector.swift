/// Finds out where a sensor of unknown range is cut off, and which samples are.
///
/// Full scales are a power of two times a usual smallest one. The same value twice running at the largest ever seen, within
/// 3 % of such a full scale, is the end of the range: noise does not repeat itself. A value half a per cent beyond it says
/// that it was not.
struct ClippingDetector: Sendable, BitwiseCopyable {
    /// The smallest full scale there is, in the sensor's unit.
    private let smallestRange: Double
    private var largest = 0.0
    private var last = Vector3.zero
    private var isLastNear = false

    /// Values of this size and more are cut off; `nil` while no end of the range is known.
    private(set) var limit: Double?

    /// A detector for an accelerometer, m/s²: full scales from ±2 g.
    static var accelerometer: ClippingDetector { ClippingDetector(smallestRange: 2 * standardGravity) }

    /// A detector for a gyroscope, rad/s: full scales from ±125 °/s.
    static var gyroscope: ClippingDetector { ClippingDetector(smallestRange: 125 * radiansPerDegree) }

    private init(smallestRange: Double) {
        self.smallestRange = smallestRange
    }

    /// Takes a reading; returns the axes that are cut off, bit 0 for x.
    mutating func clippedAxes(_ reading: Vector3) -> UInt16 {
        // Most readings are far from the end of any range.
        let near = 0.97 * smallestRange
        guard reading.lengthSquared >= near * near else {
            isLastNear = false
            return 0
        }
        for axis in 0..<3 { learn(abs(reading[axis]), isRepeated: isLastNear && reading[axis] == last[axis]) }
        last = reading
        isLastNear = true
        guard let limit else { return 0 }
        var axes: UInt16 = 0
        for axis in 0..<3 where abs(reading[axis]) >= limit { axes |= 1 << UInt16(axis) }
        return axes
    }

    private mutating func learn(_ size: Double, isRepeated: Bool) {
        if size > largest {
            largest = size
            if let limit, size > 1.005 * limit { self.limit = nil }
        }
        guard isRepeated, limit == nil, size >= 0.97 * smallestRange, size >= 0.9995 * largest else { return }
        var range = smallestRange
        while size > 1.4 * range { range *= 2 }
        if abs(size - range) < 0.03 * range { limit = 0.998 * size }
    }
}

/// Which of a source's ranges nobody has told: its samples' clipping flags are then found out.
package struct UntoldRanges: OptionSet, Sendable, BitwiseCopyable {
    package let rawValue: UInt8

    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The accelerometer's.
    @inlinable
    package static var accelerometer: UntoldRanges { UntoldRanges(rawValue: 1) }

    /// The gyroscope's.
    @inlinable
    package static var gyroscope: UntoldRanges { UntoldRanges(rawValue: 2) }
}
