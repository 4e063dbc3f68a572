/// Frames that are the same, bit for bit, as the one before: chance, or a chip that is frozen.
///
/// They are held back until another comes: a living sensor's noise changes some bit nearly always.
struct RepetitionFilter: BitwiseCopyable {
    /// The last frame that differed from the one before it.
    private(set) var frame: ChipFrame?
    /// How often it has been repeated since, and how many of the repetitions are held back.
    private(set) var repetitions = 0
    private(set) var held = 0

    /// Whether this frame repeats the last one.
    func isRepeated(by frame: ChipFrame) -> Bool { frame == self.frame }

    /// Another frame has come.
    mutating func begin(with frame: ChipFrame) {
        self.frame = frame
        repetitions = 0
        held = 0
    }

    /// The last frame has come once more.
    mutating func countRepetition() { repetitions += 1 }

    /// Holds back the repetition that was counted.
    mutating func hold() { held += 1 }

    /// Forgets those that are held back: they have been delivered, or are never to be.
    mutating func releaseHeld() { held = 0 }

    /// Forgets the frame, too.
    mutating func reset() { self = RepetitionFilter() }
}
