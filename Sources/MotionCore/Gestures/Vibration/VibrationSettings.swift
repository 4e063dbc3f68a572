/// How a running machine is recognised.
public struct VibrationSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides `threshold` by 1.25. The default cooldown is 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// RMS of the vibration from which a machine counts as running, over all three axes and without the sensor's own
    /// noise, m/s²; once it runs, 0.7 times this is enough. Default 0.12: a slowly turning drum gives the housing 0.15
    /// to 0.25, spinning 0.4 and more, and an MPU-6050's noise stays below 0.11. Smaller finds quieter machines, but
    /// also footsteps and the machine beside it; larger misses slow phases of a cycle.
    public var threshold = 0.12

    /// Time of vibration until `began`, s; during pauses it counts backwards at a quarter of the speed. Default 10.
    /// Smaller reports a machine sooner, but takes longer knocks, a ringing phone or work on the table for one; larger
    /// misses drums that turn for a few seconds between long pauses, until they spin.
    public var runTime = 10.0

    /// Time without vibration until `ended`, s: the longest pause within one cycle. Default 180. A washing machine
    /// stops for seconds when it reverses its drum, and for up to two minutes when it lets water in or soaks. Smaller
    /// reports sooner that a machine is done, but splits a cycle with longer pauses in two; larger does the opposite. A
    /// fan or a pump needs no more than 10.
    public var doneAfter = 180.0

    /// The lowest frequency of vibration, Hz; slower movement does not count, however strong. Default 2.5. Smaller
    /// includes slow rocking; larger includes only faster machines: 8 excludes people altogether, and at 20 samples a
    /// second almost everything, since half the sample rate is the highest frequency there is.
    public var minimumFrequency = 2.5

    /// Creates the default settings.
    public init() {}
}
