internal import CLinuxGPIO
internal import Glibc
package import IMUDrivers
public import LinuxSystem
internal import MotionCore

/// The rising edges of one GPIO line requested from the kernel: a chip's data-ready pin, owned by the chip's driver.
///
/// The kernel timestamps every edge in the interrupt handler, on CLOCK_MONOTONIC, and queues it until it is read.
/// No thread is woken by an edge. The line is released at the end of the value's lifetime.
package struct GPIOLine: DataReadyLine, ~Copyable {
    /// The most events that the kernel queues for a line (gpiolib-cdev.c: sixteen for each of 64 lines). At 1000 Hz
    /// they cover one second, which is the longest batch.
    package static var queueLength: UInt32 { 1024 }

    /// The consumer name that the kernel shows for the line.
    static var consumer: String { "jostle" }

    package static var isWired: Bool { true }

    /// The requested line.
    package let place: GPIOPlace

    private let descriptor: Int32
    private let events: UnsafeMutableBufferPointer<gpio_v2_line_event>
    /// How long the system has been suspended since its start, ns: what the edges' clock leaves out.
    private var suspended: Int64 = 0

    /// Requests a line (`GPIO_V2_GET_LINE_IOCTL`).
    ///
    /// - Throws: why the line cannot be used, with the name of its present consumer if it has one.
    package init(_ place: GPIOPlace) throws(GPIOError) {
        descriptor = try Self.request(place)
        self.place = place
        events = .allocate(capacity: 64)
    }

    deinit {
        close(descriptor)
        events.deallocate()
    }

    /// Reads events from the kernel's queue (`read`). If the chip is gone there are none, so the line appears silent.
    package mutating func takeEdges(into edges: UnsafeMutableBufferPointer<DataReadyEdge>) -> Int {
        guard let first = events.baseAddress else { return 0 }
        let count = min(edges.count, events.count)
        let taken = Int(linux_gpio_read(descriptor, first, UInt32(count)))
        guard taken > 0 else { return 0 }
        // It changes only in suspend; less is an error of reading it.
        let offset = KernelClock.boot.offset(from: .monotonic)
        if abs(offset - suspended) > 1_000_000 { suspended = offset }
        for index in 0..<taken {
            let event = events[index]
            edges[index] = DataReadyEdge(
                time: Timestamp(nanoseconds: Int64(bitPattern: event.timestamp_ns) + suspended),
                number: event.line_seqno)
        }
        return taken
    }

    // MARK: Requesting

    private static func request(_ place: GPIOPlace) throws(GPIOError) -> Int32 {
        let paths = place.paths()
        for path in paths {
            let chip = try open(path, for: place)
            defer { close(chip) }
            guard let offset = try offset(of: place, on: chip, path: path) else { continue }
            let line = uninterrupted { linux_gpio_rising_edges(chip, offset, consumer, queueLength) }
            if line >= 0 { return line }
            throw refusal(SystemFailure(code: -line), offset, on: chip, place, path)
        }
        throw GPIOError(.noSuchLineName, place, path: paths.last ?? "/dev/gpiochip*")
    }

    private static func open(_ path: String, for place: GPIOPlace) throws(GPIOError) -> Int32 {
        let chip = uninterrupted { linux_gpio_open(path) }
        guard chip < 0 else { return chip }
        let reason: GPIOError.Reason =
            switch -chip {
            case ENOENT, ENODEV, ENXIO: .noChip
            case EACCES, EPERM: .accessDenied
            default: .cannotOpen
            }
        throw GPIOError(reason, place, path: path, SystemFailure(code: -chip))
    }

    /// The line's number on the chip; `nil` if no line of the chip has the name.
    private static func offset(of place: GPIOPlace, on chip: Int32, path: String) throws(GPIOError) -> UInt32? {
        var info = gpiochip_info()
        let answer = uninterrupted { linux_gpio_chip_info(chip, &info) }
        guard answer == 0 else {
            throw GPIOError(.notAChip, place, path: path, SystemFailure(code: -answer))
        }
        switch place.line {
        case .number(let number):
            guard number < info.lines else { throw GPIOError(.noLine(count: info.lines), place, path: path) }
            return number
        case .name(let wanted):
            for number in 0..<info.lines {
                var line = gpio_v2_line_info()
                guard linux_gpio_line_info(chip, number, &line) == 0 else { continue }
                if text(line.name) == wanted { return number }
            }
            return nil
        }
    }

    /// The error for a request that the kernel refused.
    private static func refusal(
        _ failure: SystemFailure, _ offset: UInt32, on chip: Int32, _ place: GPIOPlace, _ path: String
    ) -> GPIOError {
        switch failure.code {
        case EBUSY:
            var line = gpio_v2_line_info()
            let isKnown = linux_gpio_line_info(chip, offset, &line) == 0 && linux_gpio_is_used(&line) != 0
            let consumer = isKnown ? text(line.consumer) : ""
            return GPIOError(.inUse(consumer: consumer.isEmpty ? nil : consumer), place, path: path, failure)
        case ENXIO, EOPNOTSUPP: return GPIOError(.noInterrupts, place, path: path, failure)
        case EACCES, EPERM: return GPIOError(.accessDenied, place, path: path, failure)
        case ENOTTY: return GPIOError(.notAChip, place, path: path, failure)
        default: return GPIOError(.cannotRequest, place, path: path, failure)
        }
    }

    /// The text in a fixed-size character array, up to the first zero.
    private static func text<Characters>(_ characters: Characters) -> String {
        withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

/// Identifies a line of a GPIO chip.
public struct GPIOPlace: Equatable, Sendable, CustomStringConvertible {
    /// A line by its number on the chip, or by its name in the board's device tree.
    public enum Line: Equatable, Sendable {
        case number(UInt32)
        case name(String)
    }

    /// The chip: a name such as `gpiochip0`, or the path of its device file. `nil` means `gpiochip0` for a line number,
    /// and any chip that has the line for a line name.
    public var chip: String?

    public var line: Line

    /// Creates a reference to a line.
    public init(chip: String? = nil, line: Line) {
        self.chip = chip
        self.line = line
    }

    /// The device files to try, in order.
    func paths(devices: String = "/dev") -> [String] {
        if let chip { return [chip.hasPrefix("/") ? chip : "\(devices)/\(chip)"] }
        guard case .name = line else { return ["\(devices)/gpiochip0"] }
        return SystemFiles.numbers(in: devices, after: "gpiochip").map { "\(devices)/gpiochip\($0)" }
    }

    /// `line 17 of gpiochip0`.
    public var description: String {
        switch line {
        case .number(let number): "line \(number) of \(chip ?? "gpiochip0")"
        case .name(let name): chip.map { "line \(name) of \($0)" } ?? "line \(name)"
        }
    }
}

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
