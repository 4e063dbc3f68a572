package import IMUDrivers
package import Testing

/// The transactions that a test expects on a bus, in order, and their answers.
///
/// An unexpected transaction fails the test. So does one that is still expected when the bus is destroyed.
package final class BusScript {
    private struct Step {
        var kind: Kind
        var location: SourceLocation

        enum Kind: Equatable {
            case read(UInt8, count: Int, Result<[UInt8], BusError>)
            case write(UInt8, UInt8, BusError?)
        }
    }

    private var steps: [Step] = []
    private var next = 0
    private let clock: ManualClock?

    /// The duration of every transaction, seconds; the clock is advanced by it.
    package var transactionTime: Double = 0

    /// Whether a transaction has failed the test. From then on the bus does not answer.
    package private(set) var hasFailed = false

    /// - Parameter clock: the clock to advance by `transactionTime`.
    package init(clock: ManualClock? = nil) {
        self.clock = clock
    }

    /// The number of transactions still expected.
    package var remaining: Int { steps.count - next }

    /// Expects a read from `register` on of as many bytes as the answer has.
    package func read(_ register: UInt8, _ answer: [UInt8], at location: SourceLocation = #_sourceLocation) {
        steps.append(Step(kind: .read(register, count: answer.count, .success(answer)), location: location))
    }

    /// Expects a read of one register.
    package func read(_ register: UInt8, _ answer: UInt8, at location: SourceLocation = #_sourceLocation) {
        read(register, [answer], at: location)
    }

    /// Expects a read of `count` bytes that fails.
    package func read(
        _ register: UInt8, count: Int = 1, failing error: BusError, at location: SourceLocation = #_sourceLocation
    ) {
        steps.append(Step(kind: .read(register, count: count, .failure(error)), location: location))
    }

    /// Expects a write of one register that succeeds, or fails with `error`.
    package func write(
        _ register: UInt8, _ value: UInt8, failing error: BusError? = nil,
        at location: SourceLocation = #_sourceLocation
    ) {
        steps.append(Step(kind: .write(register, value, error), location: location))
    }

    fileprivate func carryRead(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        clock?.advance(bySeconds: transactionTime)
        guard let step = take(), case .read(register, buffer.count, let result) = step.kind else {
            throw unexpected("read of \(buffer.count) at \(hex(register))")
        }
        switch result {
        case .success(let answer): buffer.copyBytes(from: answer)
        case .failure(let error): throw error
        }
    }

    fileprivate func carryWrite(_ register: UInt8, _ value: UInt8) throws(BusError) {
        clock?.advance(bySeconds: transactionTime)
        guard let step = take(), case .write(register, value, let error) = step.kind else {
            throw unexpected("write of \(hex(value)) to \(hex(register))")
        }
        if let error { throw error }
    }

    fileprivate func finish() {
        guard !hasFailed && remaining > 0 else { return }
        let step = steps[next]
        Issue.record("\(remaining) expected transactions were not made: \(step.kind)", sourceLocation: step.location)
    }

    private func take() -> Step? {
        guard !hasFailed && next < steps.count else { return nil }
        next += 1
        return steps[next - 1]
    }

    private func unexpected(_ what: String) -> BusError {
        if !hasFailed {
            hasFailed = true
            // `take` has already passed the step that was expected instead.
            if let step = steps.indices.contains(next - 1) && next > 0 ? steps[next - 1] : nil {
                Issue.record("unexpected \(what) at or after \(step.kind)", sourceLocation: step.location)
            } else {
                Issue.record("unexpected \(what): the script is empty")
            }
        }
        return BusError(.other)
    }

    private func hex(_ value: UInt8) -> String { "0x" + String(value, radix: 16, uppercase: true) }
}

/// A bus that plays a script.
package struct ScriptedBus: RegisterBus, ~Copyable {
    package let maximumReadLength: Int
    private let script: BusScript
    /// Whether it carries two reads in one transaction. In the script they are two.
    private let joinsReads: Bool

    /// Reads may have up to `maximumReadLength` bytes.
    package init(_ script: BusScript, maximumReadLength: Int = 8192, joinsReads: Bool = false) {
        self.script = script
        self.maximumReadLength = maximumReadLength
        self.joinsReads = joinsReads
    }

    deinit {
        script.finish()
    }

    package mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        try script.carryRead(register, into: buffer)
    }

    package mutating func read(
        _ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, then second: UInt8,
        into secondBuffer: UnsafeMutableRawBufferPointer
    ) throws(BusError) -> Bool {
        guard joinsReads else { return false }
        try script.carryRead(register, into: buffer)
        try script.carryRead(second, into: secondBuffer)
        return true
    }

    package mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        try script.carryWrite(register, value)
    }
}
