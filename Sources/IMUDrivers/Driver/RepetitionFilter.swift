/// Detects frames that repeat the previous one bit for bit, by chance or because the chip is frozen.
///
/// Repetitions are held back until a different frame arrives: the noise of a working sensor nearly always changes some
/// bit.
struct RepetitionFilter: BitwiseCopyable {
    /// The last frame that differed from its predecessor.
    private(set) var frame: ChipFrame?
    /// How often it has been repeated since, and how many of the repetitions are held back.
    private(set) var repetitions = 0
    private(set) var held = 0

    /// Whether `frame` repeats the last one.
    func isRepeated(by frame: ChipFrame) -> Bool { frame == self.frame }

    /// Starts over with a different frame.
    mutating func begin(with frame: ChipFrame) {
        self.frame = frame
        repetitions = 0
        held = 0
    }

    /// Counts a repetition of the last frame.
    mutating func countRepetition() { repetitions += 1 }

    /// Holds back the repetition just counted.
    mutating func hold() { held += 1 }

    /// Forgets the held-back repetitions, after they were delivered or discarded.
    mutating func releaseHeld() { held = 0 }

    /// Forgets everything, including the last frame.
    mutating func reset() { self = RepetitionFilter() }
}
