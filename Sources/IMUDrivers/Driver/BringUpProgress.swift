internal import MotionCore

/// How far the bring-up of a chip has come, and how long it may take what it is at.
struct BringUpProgress: BitwiseCopyable {
    /// The next step of the script.
    private(set) var step = 0
    /// The step at which it begins again when registers do not keep their values yet, and until when that may be.
    private var wakingStep: Int?
    private var patienceEnd: Timestamp?
    /// Until when the step may look for what it waits for; `nil` when it is not waiting.
    private var waitEnd: Timestamp?

    /// The chip has been identified: its script begins.
    mutating func begin() { self = BringUpProgress() }

    /// The step is done.
    mutating func advance() {
        step += 1
        waitEnd = nil
    }

    /// The step is where the chip wakes from its reset: from now on its registers may refuse their values for a while.
    mutating func noteWaking(at now: Timestamp) {
        wakingStep = step
        if patienceEnd == nil { patienceEnd = now.advanced(bySeconds: DriverTiming.registerPatience) }
    }

    /// Goes back to where the chip wakes, if a register may still refuse its value; returns whether it may.
    mutating func wakeAgain(at now: Timestamp) -> Bool {
        guard let wakingStep, let patienceEnd, now < patienceEnd else { return false }
        step = wakingStep
        return true
    }

    /// Begins to wait, unless that has begun; returns whether it is the beginning.
    mutating func beginWaiting(from now: Timestamp, for seconds: Double) -> Bool {
        guard waitEnd == nil else { return false }
        waitEnd = now.advanced(bySeconds: seconds)
        return true
    }

    /// Whether the step has waited for too long.
    func isOverdue(at now: Timestamp) -> Bool {
        guard let waitEnd else { return false }
        return now >= waitEnd
    }
}
