internal import IMUDrivers
internal import MotionCore
internal import VirtualIMU

/// A 400 kHz bus whose transactions take realistic time.
struct TimedBus: RegisterBus {
    /// A system call, a start and a stop, seconds.
    private static let overhead = 60e-6
    /// Nine clocks per byte.
    private static let byte = 9.0 / 400_000
    /// How long Linux adapters wait for a bus that is held low: i2c-core's default, one second.
    private static let stuckBusTimeout = 1.0

    /// 8192 bytes, as with Linux transfers, or 32, as with SMBus blocks.
    let maximumReadLength: Int
    let chip: any FaultyChip
    let clock: ManualClock
    let injector: FaultInjector

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        if register == injector.register, let event = injector.event, clock.now() >= injector.start {
            injector.event = nil
            injector.injectedAt = clock.now()
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
        pass(error.kind == .timedOut ? TimedBus.stuckBusTimeout : TimedBus.overhead + TimedBus.byte)
        return error
    }

    private func pass(_ seconds: Double) {
        clock.set(to: clock.now().advanced(bySeconds: seconds))
    }
}

/// An event to inject when the driver reads a certain register.
final class FaultInjector {
    let register: UInt8
    /// The event to inject from `start` on; `nil` if there is none.
    var event: FaultEvent?
    let start: Timestamp
    /// When it was injected.
    var injectedAt: Timestamp?

    init(_ event: FaultEvent?, register: UInt8, from start: Timestamp) {
        self.event = event
        self.register = register
        self.start = start
    }
}
