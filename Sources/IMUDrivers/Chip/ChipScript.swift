/// One step of a script.
package enum ChipStep: Equatable, Sendable, BitwiseCopyable {
    /// Enters the next driver state. If a register does not keep its value before the reset deadline, the script
    /// returns to `waking`: some parts accept writes only some time after a reset.
    case enter(IMUState)
    /// Writes a register that need not keep the value: a command, or a temporary value before the table's value.
    case write(RegisterAddress, RegisterValue)
    /// Writes a register whose acknowledgement the host may miss. If the chip did not take the value, that is tolerated.
    case attempt(RegisterAddress, RegisterValue)
    /// Reads a register for its side effect.
    case read(RegisterAddress)
    /// Reads a register that the chip itself may change by mistake. From then on its value is checked and restored.
    case keep(RegisterAddress)
    /// Reads the FIFO's count for its side effects.
    case discardCount
    /// Writes the table's registers of a stage.
    case apply(RegisterStage)
    /// Writes the table's registers of a stage and reads each one back.
    case configure(RegisterStage)
    /// Reads the table's registers of a stage and checks their values.
    case verify(RegisterStage)
    /// Reads a register and checks its value.
    case check(RegisterSetting)
    /// Reads a register every `every` seconds until it has the given value; fails after `within` seconds. A missing
    /// acknowledgement is tolerated meanwhile, because a chip in reset may not answer.
    case waitFor(RegisterSetting, every: Double, within: Double)
    /// Waits, seconds.
    case wait(Double)
    /// Reads the chip's temperature, high byte first, as the reference that the temperatures in FIFO frames are checked
    /// against.
    case noteTemperature(RegisterAddress)
    /// Discards samples for this many seconds, until the sensors have settled.
    case settle(Double)
}

/// A sequence of steps, in memory that is fixed at `init`.
package struct ChipScript: ~Copyable {
    /// The most steps in a script.
    static var capacity: Int { 32 }

    private let steps = UnsafeMutablePointer<ChipStep>.allocate(capacity: ChipScript.capacity)
    private(set) var count = 0

    deinit {
        steps.deallocate()
    }

    /// Appends a step.
    package mutating func add(_ step: ChipStep) {
        precondition(count < Self.capacity, "too many steps")
        steps[count] = step
        count += 1
    }

    /// Appends the command that resets the chip, and the wait until a register shows that the reset is done. The
    /// interval between checks and the deadline are in seconds. By default they suit a reset of up to 0.1 s.
    package mutating func addReset(
        _ register: RegisterAddress, _ command: RegisterValue, until done: RegisterSetting,
        every interval: Double = 0.01,
        within limit: Double = 0.15
    ) {
        add(.write(register, command))
        add(.waitFor(done, every: interval, within: limit))
    }

    /// The step at `index`.
    subscript(index: Int) -> ChipStep {
        precondition(index >= 0 && index < count, "step index out of range")
        return steps[index]
    }

    mutating func removeAll() { count = 0 }
}

/// A part's register table and scripts, as the driver runs them.
struct ChipPlan: ~Copyable {
    private(set) var registers = RegisterTable()
    private(set) var bringUp = ChipScript()
    private(set) var startFIFO = ChipScript()
    private(set) var sleep = ChipScript()

    /// The plan of a part. This is the only method that allocates.
    static func of<Part: ChipPart>(_ part: Part) -> ChipPlan {
        // Not an initialiser: Swift 6.0.3 crashes on a mutating method call there.
        var plan = ChipPlan()
        plan.replace(with: part)
        return plan
    }

    /// Replaces the plan with another part's, in the same memory.
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
