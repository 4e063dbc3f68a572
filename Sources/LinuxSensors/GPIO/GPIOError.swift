public import LinuxSystem

/// Why a GPIO line cannot be used, and what to do about it.
public struct GPIOError: Error, Equatable, Sendable {
    /// What stands in the way.
    package enum Reason: Equatable, Sendable {
        /// There is no such GPIO chip.
        case noChip
        /// This user may not open the chip.
        case accessDenied
        /// The chip cannot be opened for another reason.
        case cannotOpen
        /// The file is no GPIO chip's, or the kernel is older than 5.10.
        case notAChip
        /// The chip has only so many lines.
        case noLine(count: UInt32)
        /// No line has this name.
        case noLineOfThatName
        /// Somebody has the line; who, where the kernel tells.
        case inUse(consumer: String?)
        /// The line cannot give interrupts.
        case noInterrupts
        /// The line cannot be had for another reason.
        case cannotRequest
    }

    package var reason: Reason

    /// Which line was meant, and the file of the chip that was looked at last.
    public var place: GPIOPlace
    public var path: String

    /// What the system call answered; `nil` if none failed.
    public var failure: SystemFailure?

    init(_ reason: Reason, _ place: GPIOPlace, path: String, _ failure: SystemFailure? = nil) {
        self.reason = reason
        self.place = place
        self.path = path
        self.failure = failure
    }
}

extension GPIOError {
    /// Whether there is no such thing as was configured, rather than none to be had now.
    public var isConfiguration: Bool {
        switch reason {
        case .noChip, .notAChip, .noLine, .noLineOfThatName, .noInterrupts: true
        case .accessDenied, .cannotOpen, .inUse, .cannotRequest: false
        }
    }
}

extension GPIOError: CustomStringConvertible {
    /// One sentence that says what is wrong, without advice.
    public var description: String {
        switch reason {
        case .noChip: "\(place): there is no GPIO chip \(path)"
        case .accessDenied, .cannotOpen: "\(place): \(path) cannot be opened\(cause)"
        case .notAChip: "\(place): \(path) is not a GPIO chip\(cause)"
        case .noLine(let count): "\(place): \(path) has the lines 0 to \(max(1, count) - 1)"
        case .noLineOfThatName: "\(place): no GPIO line has this name"
        case .inUse(let consumer): "\(place): \(consumer.map { "\"\($0)\"" } ?? "somebody else") uses it"
        case .noInterrupts: "\(place): it cannot give interrupts\(cause)"
        case .cannotRequest: "\(place): cannot be had\(cause)"
        }
    }

    /// The system's words for it, as the end of a sentence.
    private var cause: String { failure.map { ": \($0)" } ?? "" }

    /// What the reader can do about it.
    public var advice: String? {
        switch reason {
        case .noChip, .noLineOfThatName, .noLine: "gpioinfo (apt install gpiod) lists chips and lines"
        case .accessDenied:
            "add the user to group gpio: sudo usermod -aG gpio $USER, then log in again (deploy/udev has the rule that gives "
                + "the GPIO chips to that group)"
        case .notAChip: "name one of /dev/gpiochip*; a kernel before 5.10 does not have the interface"
        case .inUse: "wire the pin to another line, or have the other release it"
        case .noInterrupts: "wire the pin to a line of the processor's own GPIO"
        case .cannotOpen, .cannotRequest: nil
        }
    }
}
