public import LinuxSystem

/// Why a GPIO line cannot be used, with advice for the user.
public struct GPIOError: Error, Equatable, Sendable {
    /// The cause.
    package enum Reason: Equatable, Sendable {
        /// There is no such GPIO chip.
        case noChip
        /// This user may not open the chip.
        case accessDenied
        /// The chip cannot be opened for another reason.
        case cannotOpen
        /// The file is not a GPIO chip, or the kernel is older than 5.10.
        case notAChip
        /// The chip has only this many lines.
        case noLine(count: UInt32)
        /// No line has this name.
        case noSuchLineName
        /// The line is in use by this consumer, if the kernel reports it.
        case inUse(consumer: String?)
        /// The line does not support interrupts.
        case noInterrupts
        /// The line cannot be requested for another reason.
        case cannotRequest
    }

    package var reason: Reason

    /// The requested line, and the device file of the chip that was opened last.
    public var place: GPIOPlace
    public var path: String

    /// The failure of the system call; `nil` if none failed.
    public var failure: SystemFailure?

    init(_ reason: Reason, _ place: GPIOPlace, path: String, _ failure: SystemFailure? = nil) {
        self.reason = reason
        self.place = place
        self.path = path
        self.failure = failure
    }
}

extension GPIOError {
    /// Whether the configuration names something that does not exist, rather than something currently unavailable.
    public var isConfiguration: Bool {
        switch reason {
        case .noChip, .notAChip, .noLine, .noSuchLineName, .noInterrupts: true
        case .accessDenied, .cannotOpen, .inUse, .cannotRequest: false
        }
    }
}

extension GPIOError: CustomStringConvertible {
    /// One sentence that states the problem, without advice.
    public var description: String {
        switch reason {
        case .noChip: "\(place): there is no GPIO chip \(path)"
        case .accessDenied, .cannotOpen: "\(place): \(path) cannot be opened\(cause)"
        case .notAChip: "\(place): \(path) is not a GPIO chip\(cause)"
        case .noLine(let count): "\(place): \(path) has the lines 0 to \(max(1, count) - 1)"
        case .noSuchLineName: "\(place): no GPIO line has this name"
        case .inUse(let consumer): "\(place): \(consumer.map { "\"\($0)\"" } ?? "another program") uses it"
        case .noInterrupts: "\(place): the line does not support interrupts\(cause)"
        case .cannotRequest: "\(place): cannot be requested\(cause)"
        }
    }

    /// The system's error message, as the end of a sentence.
    private var cause: String { failure.map { ": \($0)" } ?? "" }

    /// What the user can do about it; `nil` if there is no advice.
    public var advice: String? {
        switch reason {
        case .noChip, .noSuchLineName, .noLine: "gpioinfo (apt install gpiod) lists chips and lines"
        case .accessDenied:
            "add the user to group gpio: sudo usermod -aG gpio $USER, then log in again (deploy/udev has the rule that gives "
                + "the GPIO chips to that group)"
        case .notAChip: "name one of /dev/gpiochip*; a kernel before 5.10 does not have the interface"
        case .inUse: "wire the pin to another line, or stop the program that uses it"
        case .noInterrupts: "wire the pin to a line of the processor's own GPIO"
        case .cannotOpen, .cannotRequest: nil
        }
    }
}
