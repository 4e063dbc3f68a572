/// One step of a script.
package enum ChipStep: Equatable, Sendable, BitwiseCopyable {
    /// The chip's life goes on to another state. A register that does not keep its value before the deadline of the reset
    /// sends the script back to `waking`: some parts take writes only a while after their reset.
    case enter(IMUState)
    /// Writes a register that is not to keep it: a command, or what comes before the table's value.
    case write(RegisterAddress, RegisterValue)
    /// Reads a register for what that does to the chip.
    case read(RegisterAddress)
    /// Writes the table's registers of a stage.
    case apply(RegisterStage)
    /// Writes the table's registers of a stage, and reads each back.
    case configure(RegisterStage)
    /// Reads the table's registers of a stage, which must be as they are there.
    case verify(RegisterStage)
    /// Reads a register, which must be so.
    case check(RegisterSetting)
    /// Looks at a register every so many seconds until it is so, and fails after `within` seconds. A chip that does not
    /// answer meanwhile is one in reset.
    case waitFor(RegisterSetting, every: Double, within: Double)
    /// Waits, seconds.
    case wait(Double)
    /// Reads the temperature, high byte first, that frames of a FIFO which has not slipped are near to.
    case noteTemperature(RegisterAddress)
    /// From so many seconds after now on the sensors tell the truth.
    case settle(Double)
}

/// The steps of one thing that a driver does with a chip, in memory that is fixed at `init`.
package struct ChipScript: ~Copyable {
    /// The most steps of a script.
    static var capacity: Int { 24 }

    private let steps: UnsafeMutablePointer<ChipStep>
    private(set) var count = 0

    init() {
        steps = .allocate(capacity: Self.capacity)
    }

    deinit {
        steps.deallocate()
    }

    /// Adds a step after those that are there.
    package mutating func add(_ step: ChipStep) {
        precondition(count < Self.capacity, "too many steps")
        steps[count] = step
        count += 1
    }

    /// The step at `index`.
    subscript(index: Int) -> ChipStep {
        precondition(index >= 0 && index < count, "step index out of range")
        return steps[index]
    }

    mutating func removeAll() { count = 0 }
}

/// What a driver carries out with a part: the part's register table and its scripts.
struct ChipPlan: ~Copyable {
    private(set) var registers = RegisterTable()
    private(set) var bringUp = ChipScript()
    private(set) var startFIFO = ChipScript()
    private(set) var sleep = ChipScript()

    /// The plan of a part; the only one that allocates.
    static func of<Part: ChipPart>(_ part: Part) -> ChipPlan {
        // Not in an initialiser: Swift 6.0.3 crashes on a mutating method there.
        var plan = ChipPlan()
        plan.replace(with: part)
        return plan
    }

    /// Takes the plan of another part, in the same memory.
    mutating func replace<Part: ChipPart>(with part: Part) {
        registers.removeAll()
        part.addRegisters(to: &registers)
        registers.formGroups()
        bringUp.removeAll()
        part.addBringUp(to: &bringUp)
        startFIFO.removeAll()
        part.addFIFOStart(to: &startFIFO)
        sleep.removeAll()
        part.addSleep(to: &sleep)
    }
}
