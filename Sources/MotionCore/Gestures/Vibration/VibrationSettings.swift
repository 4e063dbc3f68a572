/// How a machine that runs is recognised.
public struct VibrationSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0 s.
    ///
    /// Each step of sensitivity divides `threshold` by 1.25.
    public var common = RecognizerSettings(cooldown: 0)

    /// RMS of the vibration over all three axes, the sensor's own noise left out, from which a machine counts as running,
    /// m/s². Default 0.12: a drum that turns slowly gives the housing 0.15 to 0.25, spinning 0.4 and more, and an
    /// MPU-6050's noise stays below 0.11.
    /// Once a machine runs, 0.7 of it are enough. Smaller finds quieter machines, and footsteps and the machine beside
    /// it; larger leaves slow phases of a cycle out.
    public var threshold = 0.12

    /// Seconds of vibration until `began`; in pauses they count backwards at a quarter of the speed. Default 10.
    /// Smaller tells sooner, and takes longer knocks, a ringing phone or work on the table for a machine; larger misses
    /// drums that turn for a few seconds between long pauses until they spin.
    public var runTime = 10.0

    /// Seconds without vibration until `ended`: the longest pause within one cycle. Default 180.
    /// A washing machine stops for seconds when it reverses its drum, and for up to two minutes when it lets water in
    /// or soaks. Smaller tells sooner that a machine is done, and makes two cycles of one with longer pauses; larger
    /// does the opposite. A fan or a pump needs no more than 10.
    public var doneAfter = 180.0

    /// Hz below which movement is no vibration, whatever its strength. Default 2.5.
    /// Smaller takes in slow rocking; larger only what turns faster: 8 leaves people out altogether, and at 20 samples
    /// a second almost everything, since half the sample rate is the highest frequency there is.
    public var minimumFrequency = 2.5

    /// Makes the default settings.
    public init() {}
}
