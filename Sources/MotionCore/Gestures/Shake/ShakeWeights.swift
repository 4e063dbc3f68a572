/// The weights of one of `ShakeModel`'s networks, in the order of `ShakeFeature`.
///
/// They were fitted to recordings whose licence allows it and to synthetic movements; docs/gestures.md lists them.
struct ShakeWeights {
    /// The number of hidden units.
    static let hiddenUnits = 10

    /// The likeness that a movement needs at the default sensitivity if its weakest swing has an amplitude of 1 g, and
    /// the likeness that a factor e of amplitude is worth.
    let threshold: Double
    let slope: Double

    /// Each feature enters as (value - mean) * scale, within ±4.
    let mean: [Double]
    let scale: [Double]

    /// The median of shakes, with which `ShakeModel.obstacle` compares; no fall and many swings.
    let typical: [Double]

    /// The constant, and the direct weight of each feature.
    let bias: Double
    let direct: [Double]

    /// The weights of each feature in each hidden unit, the units' constants, and the weights of the units.
    let hidden: [[Double]]
    let hiddenBias: [Double]
    let output: [Double]
}
