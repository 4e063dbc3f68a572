internal import MotionCore

/// The current step of a chip's bring-up, and its deadlines.
struct BringUpProgress: BitwiseCopyable {
    /// The next step of the script.
    private(set) var step = 0
    /// The step to return to while registers do not yet keep their values, and the deadline for that.
    private var wakingStep: Int?
    private var registerDeadline: Timestamp?
    /// The deadline of the step's wait; `nil` if it is not waiting.
    private var waitEnd: Timestamp?

    /// Whether this driver may have left another bank of registers selected than the one with the identity.
    private(set) var mayHaveOtherBank = false

    /// Whether this driver has identified its chip at some time.
    private(set) var hasIdentified = false

    /// Starts the script, once the chip has been identified.
    mutating func begin() {
        self = BringUpProgress()
        mayHaveOtherBank = true
        hasIdentified = true
    }

    /// Records that the script has reached its end.
    mutating func finish() { mayHaveOtherBank = false }

    /// Records that another bank may be selected.
    mutating func noteOtherBank() { mayHaveOtherBank = true }

    /// Marks the current step as done.
    mutating func advance() {
        step += 1
        waitEnd = nil
    }

    /// Records that the chip is waking from its reset; from now on its registers may reject values for a while.
    mutating func noteWaking(at now: Timestamp) {
        wakingStep = step
        if registerDeadline == nil { registerDeadline = now.advanced(bySeconds: DriverTiming.registerTimeout) }
    }

    /// Returns to the waking step if a register may still reject its value. Returns whether it did.
    mutating func wakeAgain(at now: Timestamp) -> Bool {
        guard let wakingStep, let registerDeadline, now < registerDeadline else { return false }
        step = wakingStep
        return true
    }

    /// Starts the step's wait if it is not already waiting. Returns whether it started.
    mutating func beginWaiting(from now: Timestamp, for seconds: Double) -> Bool {
        guard waitEnd == nil else { return false }
        waitEnd = now.advanced(bySeconds: seconds)
        return true
    }

    /// Whether the step has exceeded its deadline.
    func isOverdue(at now: Timestamp) -> Bool {
        guard let waitEnd else { return false }
        return now >= waitEnd
    }
}
