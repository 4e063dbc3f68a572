/// Decides which of the gyroscope scale and misalignment that the attitude filter estimated is stored across restarts.
///
/// The filter starts from the stored values, so its estimate already blends old and new. Two decisions are left: how
/// far to trust the stored values at the next start, and whether a run has learnt enough to replace them. Not every
/// movement is informative: endless circling pulls the estimate by whole per cents while its deviation hardly shrinks.
/// So an element is stored only if its deviation shows that it was really observed. Everything is along the sensor's
/// axes.
package struct ScaleLearner: Sendable, BitwiseCopyable {
    /// The deviation below which an element counts as learnt: 0.1 %, half of what is assumed of an unknown chip, so
    /// three quarters of the information came from movement. Hands that turn a board every way get there in ten
    /// minutes, and to half of it in an hour. Circling, steady turning and driving stay above 0.13 %, however long they
    /// last.
    package static let learntDeviation = 0.001

    /// Largest plausible element: 4 %. The specification's bounds are 3 % of scale and 2 % of cross-axis sensitivity at
    /// 25 °C (PS-MPU-6000A-00 r3.4, 6.1). A run that finds more has learnt something wrong and is ignored as a whole.
    package static let largestElement = 0.04

    /// Largest share of a run's initial variance that may remain at its end. A large initial variance shrinks a little
    /// in any movement, which must not count as learning.
    private static let remainingVariance = 0.5

    /// How much less a stored element is trusted at the next start. Its deviation is tripled, since recordings of one
    /// chip differ by that much more than the filter says. Then 0.05 % is added for ageing and another temperature (2 %
    /// over -40 to 85 °C; PS, 6.1).
    private static let ageing = 3.0
    private static let drift = 0.0005

    /// Deviation of an unknown element.
    private static var unknownDeviation: Double { AttitudeParameters().initialScale }

    /// The stored estimate; `nil` if nothing has been learnt. An element not yet learnt has the deviation of an unknown
    /// chip.
    package private(set) var kept: ScaleEstimate?

    /// What the next filter starts with; `nil` if nothing is stored.
    package let prior: ScaleEstimate?

    /// An element with a deviation below this one replaces the stored one.
    private var deviationLimits: Matrix3

    /// - Parameter kept: the estimate stored by earlier runs; ignored if it is not plausible.
    package init(kept: ScaleEstimate? = nil) {
        let kept = kept.flatMap { ScaleLearner.isPlausible($0) ? $0 : nil }
        self.kept = kept
        prior = kept.map {
            ScaleEstimate(scale: $0.scale, deviation: $0.deviation.mapElements(ScaleLearner.aged))
        }
        let begun = prior?.deviation ?? Matrix3(.zero, .zero, .zero).mapElements { _ in ScaleLearner.unknownDeviation }
        deviationLimits = begun.mapElements {
            min(ScaleLearner.learntDeviation, $0 * ScaleLearner.remainingVariance.squareRoot())
        }
    }

    /// Stores those elements of the run's estimate that improve on the stored ones.
    ///
    /// - Returns: whether any element was stored.
    @discardableResult
    package mutating func learn(_ estimate: ScaleEstimate) -> Bool {
        guard ScaleLearner.isPlausible(estimate) else { return false }
        var result =
            kept
            ?? ScaleEstimate(
                scale: Matrix3(.zero, .zero, .zero),
                deviation: Matrix3(.zero, .zero, .zero).mapElements { _ in ScaleLearner.unknownDeviation })
        var hasLearnt = false
        for row in 0..<3 {
            for column in 0..<3 where estimate.deviation[row][column] < deviationLimits[row][column] {
                result.scale[row][column] = estimate.scale[row][column]
                result.deviation[row][column] = estimate.deviation[row][column]
                deviationLimits[row][column] = estimate.deviation[row][column]
                hasLearnt = true
            }
        }
        if hasLearnt { kept = result }
        return hasLearnt
    }

    /// Whether an estimate is plausible for a chip.
    package static func isPlausible(_ estimate: ScaleEstimate) -> Bool {
        estimate.isUsable && estimate.scale.largestElement <= largestElement
            && estimate.deviation.largestElement < 1
    }

    /// The deviation of a stored element at the next start; at most that of an unknown element.
    private static func aged(_ deviation: Double) -> Double {
        let aged = ageing * deviation
        return min(unknownDeviation, (aged * aged + drift * drift).squareRoot())
    }
}
