/// Whether a shake may begin, by the movement before it: it begins from quiet, or stands out from what was before.
struct ShakeStart: Sendable, BitwiseCopyable {
    /// Limits for the RMS of the quietest 0.4 s of the 12 s before: absolute, m/s², or as the logarithm of its ratio to
    /// the weakest peak (see `ShakeFeatures.ratio`). Sport, brushing teeth and dribbling are never that quiet.
    static let quietFloor = 0.06 * standardGravity
    static let quietRatio = -2.1
    /// Alternatively, for a shake while walking: logarithms of the ratios to the weakest peak of the largest acceleration
    /// in the 3 s before, and of the RMS just before.
    static let standOutRatio = -0.35
    static let standOutMoment = -0.6
    /// The limit for the RMS just before in any case, as such a logarithm.
    static let momentRatio = -0.2

    let isQuiet: Bool
    let standsOut: Bool
    /// The logarithm of the ratio of the RMS just before to the weakest peak.
    let moment: Double

    /// After `ShakeFeatures.begin`.
    init(_ features: borrowing ShakeFeatures) {
        let before = features.preceding
        isQuiet =
            before.quietest <= ShakeStart.quietFloor || features.ratio(before.quietest) <= ShakeStart.quietRatio
        moment = features.ratio(before.justBefore)
        standsOut = features.ratio(before.largest) <= ShakeStart.standOutRatio && moment <= ShakeStart.standOutMoment
    }

    var isAcceptable: Bool { (isQuiet || standsOut) && moment <= ShakeStart.momentRatio }
}
