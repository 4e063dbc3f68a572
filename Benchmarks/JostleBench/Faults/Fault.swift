internal import MotionCore
internal import VirtualIMU

/// A fault of a chip, its bus or its host while the chip is being read.
enum Fault: String, CaseIterable {
    case oneNAK = "one NAK"
    case someNAKs = "1 % NAKs, 10 s"
    case someErrors = "1/7 of transfers fails, 10 s"
    case shortNAKs = "NAKs, 0.1 s"
    case longNAKs = "NAKs, 5 s"
    case stuckBus = "stuck bus, 30 s"
    case adapterGone = "adapter gone, 10 s"
    case shortHostStall = "host stalls, 0.1 s"
    case hostStall = "host stalls, 4 s"
    case overflow = "FIFO overflow"
    case slip = "FIFO slips 4 bytes"
    case frozen = "frozen output, 5 s"
    case noSamples = "no samples, 5 s"
    case unplugged = "unplugged, 60 s"
    case brownOut = "brown-out"
    case wrongIdentity = "brown-out, then a wrong identity for 10 s"
    case brownOutAmidNAKs = "brown-out amid 1 s of NAKs"
    case brownOutAmidShortNAKs = "brown-out amid 0.1 s of NAKs"
    case resetBeforeData = "reset between count and data"
    case unpluggedInBringUp = "brown-out, unplugged for 5 s in bring-up"
    case otherRange = "another range, by another program"
    case onesRead = "all-ones reads, 1 s"
    case temperatureJump = "temperature jumps 30 °C"
    case fastOscillator = "oscillator 5 % fast"
    case slowOscillator = "oscillator 5 % slow"

    /// The limits that must not be exceeded.
    struct Bounds {
        /// Seconds from the fault until the driver reports it; `nil` if there is nothing to report.
        var detection: Double?
        /// Seconds from the end of the fault until a sample that was measured after it is delivered.
        var recovery = 0.1
        /// Sample periods without a sample, not counting the duration of the fault.
        var lost = 0
    }

    /// The duration, seconds; zero for momentary faults.
    var duration: Double {
        switch self {
        case .someNAKs, .someErrors, .adapterGone: 10
        case .shortNAKs, .brownOutAmidShortNAKs, .shortHostStall: 0.1
        case .longNAKs, .frozen, .noSamples: 5
        case .stuckBus: 30
        case .hostStall: 4
        case .unplugged: 60
        case .wrongIdentity: 10
        case .brownOutAmidNAKs, .onesRead: 1
        // Five seconds, plus the delay until the bring-up has started.
        case .unpluggedInBringUp: 5.5
        case .oneNAK, .overflow, .slip, .brownOut, .resetBeforeData, .otherRange, .temperatureJump,
            .fastOscillator, .slowOscillator:
            0
        }
    }

    /// A chip that must be brought up again recovers within a pause between attempts (0.2 s) and its start-up (0.25 s).
    private static let bringUp = 0.5

    var bounds: Bounds {
        switch self {
        case .oneNAK: Bounds(detection: 0.1)
        case .someNAKs: Bounds(detection: 5)
        // A FIFO whose read failed is emptied: nobody knows what was read.
        case .someErrors: Bounds(detection: 1, recovery: 0.3, lost: 60)
        case .shortNAKs: Bounds(detection: 0.1)
        case .shortHostStall, .fastOscillator, .slowOscillator: Bounds()
        case .overflow: Bounds(detection: 0.1, recovery: 0.2, lost: 20)
        case .hostStall: Bounds(detection: 4.1, recovery: 0.2, lost: 20)
        case .temperatureJump: Bounds(recovery: 0.2, lost: 20)
        // While the FIFO is empty, its framing cannot be lost.
        case .slip: Bounds(recovery: 0.2, lost: 20)
        // An adapter gives a stuck bus up after one second, so both detection and recovery take that long.
        // The first failure is repeated once.
        case .stuckBus: Bounds(detection: 2.1, recovery: 1 + Fault.bringUp, lost: Int(200 * (1 + Fault.bringUp)))
        case .longNAKs, .adapterGone, .unplugged, .wrongIdentity, .unpluggedInBringUp, .brownOutAmidNAKs, .onesRead,
            .noSamples, .frozen:
            Bounds(detection: 1, recovery: Fault.bringUp, lost: Int(200 * Fault.bringUp))
        case .brownOut, .resetBeforeData, .otherRange, .brownOutAmidShortNAKs:
            Bounds(detection: 1, recovery: Fault.bringUp, lost: Int(200 * Fault.bringUp))
        }
    }

    /// The event to inject between the driver's reads of the FIFO's count and its data.
    var eventBeforeData: FaultEvent? { self == .resetBeforeData ? .brownOut : nil }

    /// The event to inject into the FIFO between polls. In the third of a millisecond between count and data, and
    /// without a bus error, only tags, headers and temperature would reveal it.
    var betweenPolls: FaultEvent? {
        switch self {
        case .overflow: .fifoOverflow
        case .slip: .fifoSlip(bytes: 4)
        default: nil
        }
    }

    /// The deviation of the chip's true period from the nominal one, parts per million.
    var oscillatorError: Double {
        switch self {
        case .fastOscillator: -50_000
        case .slowOscillator: 50_000
        default: 12_000
        }
    }

    /// Whether the host cannot poll during the fault.
    var stallsHost: Bool { self == .shortHostStall || self == .hostStall }

    /// Injects the fault into a chip at `start`; `chance` from 0 to 1 chooses the variable parts.
    func inject(into chip: any FaultyChip, at start: Timestamp, chance: Double) {
        func hold(_ condition: FaultCondition, after delay: Double = 0, for seconds: Double? = nil) {
            chip.inject(
                condition, from: start.advanced(bySeconds: delay), lasting: .seconds(seconds ?? duration))
        }
        switch self {
        case .oneNAK: chip.inject(.notAcknowledged, from: start, lasting: .transactions(1))
        case .someNAKs: hold(.randomlyNotAcknowledged(probability: 0.01))
        case .someErrors: hold(.randomlyFailing(probability: 1 / 7.0))
        case .shortNAKs, .longNAKs: hold(.notAcknowledged)
        case .stuckBus: hold(.stuckBus)
        case .adapterGone: hold(.adapterAbsent)
        case .frozen: hold(.frozenOutput)
        case .noSamples: hold(.stalled)
        case .unplugged: hold(.unplugged)
        case .brownOut: chip.inject(.brownOut, at: start)
        case .wrongIdentity:
            chip.inject(.brownOut, at: start)
            hold(.wrongIdentity(0x33))
        case .brownOutAmidNAKs, .brownOutAmidShortNAKs:
            hold(.notAcknowledged)
            chip.inject(.brownOut, at: start.advanced(bySeconds: chance * duration))
        case .unpluggedInBringUp:
            chip.inject(.brownOut, at: start)
            let delay = 0.1 + 0.3 * chance
            hold(.unplugged, after: delay, for: duration - delay)
        case .onesRead: hold(.onesRead)
        case .temperatureJump: chip.inject(.temperatureJump(by: 30), at: start)
        case .shortHostStall, .hostStall, .overflow, .slip, .resetBeforeData, .otherRange, .fastOscillator,
            .slowOscillator:
            break
        }
    }
}
