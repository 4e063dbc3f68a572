/// Detects clipped samples of a sensor whose range is unknown.
///
/// Every full scale is a power of two times the smallest one. The largest value seen so far counts as the end of the
/// range if it occurs twice in a row and lies within 3 % of such a full scale: noise does not repeat itself. A value
/// half a per cent above it shows that it was not the end.
struct ClippingDetector: Sendable, BitwiseCopyable {
    /// The smallest possible full scale, in the sensor's unit.
    private let smallestRange: Double
    private var largest = 0.0
    private var last = Vector3.zero
    private var isLastNear = false

    /// Values at or above this limit are clipped; `nil` while the limit is unknown.
    private(set) var limit: Double?

    /// A detector for an accelerometer, m/s²: full scales from ±2 g.
    static var accelerometer: ClippingDetector { ClippingDetector(smallestRange: 2 * standardGravity) }

    /// A detector for a gyroscope, rad/s: full scales from ±125 °/s.
    static var gyroscope: ClippingDetector { ClippingDetector(smallestRange: 125 * radiansPerDegree) }

    private init(smallestRange: Double) {
        self.smallestRange = smallestRange
    }

    /// Processes a reading; returns the clipped axes, bit 0 for x.
    mutating func clippedAxes(_ reading: Vector3) -> UInt16 {
        // Shortcut: most readings are far from the end of any range.
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

/// The sensors of a source whose ranges are unknown. Clipping of their samples is detected by `ClippingDetector`.
package struct UnknownRanges: OptionSet, Sendable, BitwiseCopyable {
    package let rawValue: UInt8

    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The accelerometer's.
    @inlinable
    package static var accelerometer: UnknownRanges { UnknownRanges(rawValue: 1) }

    /// The gyroscope's.
    @inlinable
    package static var gyroscope: UnknownRanges { UnknownRanges(rawValue: 2) }
}
