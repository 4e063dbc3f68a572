/// What is kept, over restarts, of the gyroscope's scale and misalignment that the attitude filter learnt in movement.
///
/// The filter's estimate begins with what is kept, so that it is the blend of old and new by itself; what is decided here
/// is how far the old is still trusted, and whether a run learnt enough to take its place. Not every movement teaches:
/// a body that circles without end pulls the estimate by whole per cents, while its deviation hardly shrinks. Hence an
/// element is taken only where its deviation tells of a lesson. All along the sensor's axes.
package struct ScaleLearner: Sendable, BitwiseCopyable {
    /// Deviation from which on an element counts as learnt: 0.1 %, half of what is assumed of an unknown chip, so that the
    /// movement told three quarters of what is known. Hands that turn a board every way get there in ten minutes and to
    /// half of it in an hour; circling, steady turning and driving stay above 0.13 %, however long they last.
    package static let learntDeviation = 0.001

    /// Largest element that is believed: 4 %. The specification's bounds are 3 % of scale and 2 % of cross-axis sensitivity
    /// at 25 °C (PS-MPU-6000A-00 r3.4, 6.1). A run that finds more was taught falsely, and all of it is left out.
    package static let largestElement = 0.04

    /// Share of the variance that a run began with which may be left after it: what begins with doubt loses some of it in
    /// any movement.
    private static let remainingVariance = 0.5

    /// How much less a kept element is trusted at the next start: its deviation thrice, since recordings of one chip differ
    /// by that much more than the filter says, and 0.05 % for a chip that ages and is at another temperature (2 % over -40
    /// to 85 °C; PS, 6.1).
    private static let ageing = 3.0
    private static let drift = 0.0005

    /// Deviation of an element of which nothing is known.
    private static var unknownDeviation: Double { AttitudeParameters().initialScale }

    /// What is kept; `nil` where nothing was learnt yet. An element that was not has the deviation of an unknown chip.
    package private(set) var kept: ScaleEstimate?

    /// What the next filter is to begin with; `nil` where nothing is kept.
    package let prior: ScaleEstimate?

    /// Below which deviation an element takes the kept one's place.
    private var bar: Matrix3

    /// Makes the learner of a run.
    ///
    /// - Parameter kept: what earlier runs learnt; one that is not plausible is as good as none.
    package init(kept: ScaleEstimate? = nil) {
        let kept = kept.flatMap { ScaleLearner.isPlausible($0) ? $0 : nil }
        self.kept = kept
        prior = kept.map {
            ScaleEstimate(scale: $0.scale, deviation: $0.deviation.mapElements(ScaleLearner.aged))
        }
        let begun = prior?.deviation ?? Matrix3(.zero, .zero, .zero).mapElements { _ in ScaleLearner.unknownDeviation }
        bar = begun.mapElements {
            min(ScaleLearner.learntDeviation, $0 * ScaleLearner.remainingVariance.squareRoot())
        }
    }

    /// Takes over what the run has learnt so far, where it improves on what is kept.
    ///
    /// - Returns: whether it did.
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
            for column in 0..<3 where estimate.deviation[row][column] < bar[row][column] {
                result.scale[row][column] = estimate.scale[row][column]
                result.deviation[row][column] = estimate.deviation[row][column]
                bar[row][column] = estimate.deviation[row][column]
                hasLearnt = true
            }
        }
        if hasLearnt { kept = result }
        return hasLearnt
    }

    /// Whether an estimate can be a chip's.
    package static func isPlausible(_ estimate: ScaleEstimate) -> Bool {
        estimate.isUsable && estimate.scale.largestElement <= largestElement
            && estimate.deviation.largestElement < 1
    }

    /// The deviation of a kept element at the next start; never more than that of one of which nothing is known.
    private static func aged(_ deviation: Double) -> Double {
        let aged = ageing * deviation
        return min(unknownDeviation, (aged * aged + drift * drift).squareRoot())
    }
}
