/// The weights of one of `ShakeModel`'s networks, in the order of `ShakeFeature`.
///
/// They were fitted to recordings whose licence allows it and to synthetic movements; docs/gestures.md says which.
struct ShakeWeights {
    /// How many hidden units there are.
    static let hiddenUnits = 10

    /// Likeness that the weakest swing's amplitude of 1 g needs at the default sensitivity, and how much likeness a
    /// factor e of amplitude is worth.
    let threshold: Double
    let slope: Double

    /// Each feature enters as (value - mean) * scale, within ±4.
    let mean: [Double]
    let scale: [Double]

    /// The median of shakes, with which `ShakeModel.obstacle` compares; no fall and many swings.
    let typical: [Double]

    /// What each feature adds to likeness by itself, and the constant.
    let bias: Double
    let direct: [Double]

    /// What each feature adds to each hidden unit, the units' constants, and what each unit adds to likeness.
    let hidden: [[Double]]
    let hiddenBias: [Double]
    let output: [Double]
}
