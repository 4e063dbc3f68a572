internal import IMUDrivers
internal import MotionCore
internal import VirtualIMU

/// A bus of 400 kHz on which a transaction takes its time, as on a board.
struct TimedBus: RegisterBus {
    /// A system call, the start and the stop, seconds.
    private static let overhead = 60e-6
    /// Nine clocks a byte.
    private static let byte = 9.0 / 400_000
    /// What Linux' adapters wait for a bus that is held low: i2c-core's default, a second.
    private static let patience = 1.0

    /// 8192 bytes as Linux' transfers, or 32 as an SMBus' blocks.
    let maximumReadLength: Int
    let chip: any FaultyChip
    let clock: HandClock
    let ambush: Ambush

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        if register == ambush.register, let event = ambush.event, clock.now() >= ambush.start {
            ambush.event = nil
            ambush.struck = clock.now()
            chip.inject(event, at: clock.now())
        }
        do throws(BusError) {
            try chip.read(register, into: buffer, at: clock.now())
        } catch {
            throw failed(error)
        }
        pass(TimedBus.overhead + Double(3 + buffer.count) * TimedBus.byte)
    }

    mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        do throws(BusError) {
            try chip.write(value, to: register, at: clock.now())
        } catch {
            throw failed(error)
        }
        pass(TimedBus.overhead + 3 * TimedBus.byte)
    }

    private func failed(_ error: BusError) -> BusError {
        pass(error.kind == .timedOut ? TimedBus.patience : TimedBus.overhead + TimedBus.byte)
        return error
    }

    private func pass(_ seconds: Double) {
        clock.turn(to: clock.now().advanced(bySeconds: seconds))
    }
}

/// An event that waits for the driver to read a certain register.
final class Ambush {
    let register: UInt8
    /// What is to happen from `start` on; `nil` where nothing is.
    var event: FaultEvent?
    let start: Timestamp
    /// When it happened.
    var struck: Timestamp?

    init(_ event: FaultEvent?, register: UInt8, from start: Timestamp) {
        self.event = event
        self.register = register
        self.start = start
    }
}
