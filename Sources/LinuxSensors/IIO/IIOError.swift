internal import Glibc
public import IMUDrivers
public import LinuxSystem

/// Why a kernel driver's device cannot be used, with advice for the user.
public struct IIOError: Error, Equatable, Sendable {
    /// The cause.
    package enum Reason: Equatable, Sendable {
        /// No device has this name, or none has an accelerometer; the devices that exist.
        case notFound(known: [String])
        /// The device file cannot be opened.
        case cannotOpen
        /// Another process uses the device.
        case inUse(by: ChipLock.Holder)
        /// An attribute cannot be set.
        case cannotWrite(attribute: String)
        /// A required attribute cannot be read.
        case cannotRead(attribute: String)
        /// An attribute did not keep the written value.
        case notKept(attribute: String, value: String, found: String)
        /// A channel has a storage format that is not supported.
        case unknownFormat(channel: String, String)
        /// The samples carry wall-clock timestamps, and the device accepts no other clock.
        case wallClock(String)
    }

    package var reason: Reason

    /// The device: "iio:device0 (mpu6050)", or the name that was asked for.
    public var device: String

    /// The failure of the system call; `nil` if none failed.
    public var failure: SystemFailure?

    /// Creates an error from its cause, the device and the underlying failure.
    package init(_ reason: Reason, device: String, _ failure: SystemFailure? = nil) {
        self.reason = reason
        self.device = device
        self.failure = failure
    }

    /// The corresponding driver-level error.
    public var busError: BusError {
        if case .notFound = reason { return BusError(.absent, code: ENODEV) }
        return failure.map { .opening($0) } ?? BusError(.unsupported)
    }
}

extension IIOError: CustomStringConvertible {
    /// One sentence that states the problem, without advice.
    public var description: String {
        switch reason {
        case .notFound(let known):
            let there = known.isEmpty ? "there is none" : "there is \(known.joined(separator: ", "))"
            return device == "auto"
                ? "no kernel driver has an accelerometer; of its kind of device (IIO) \(there)"
                : "no kernel driver's device with an accelerometer is called \"\(device)\"; \(there)"
        case .cannotOpen: return "\(device): cannot be opened\(cause)"
        case .inUse(let holder): return "\(device): \(holder) uses it"
        case .cannotWrite(let attribute): return "\(device): \(attribute) cannot be set\(cause)"
        case .cannotRead(let attribute): return "\(device): \(attribute) cannot be read\(cause)"
        case .notKept(let attribute, let value, let found):
            return "\(device): \(attribute) is \(found) after \(value) was written"
        case .unknownFormat(let channel, let text):
            return "\(device): \(channel) is stored as \"\(text)\", which is not supported"
        case .wallClock(let clock):
            return "\(device): its samples carry the time of the clock \"\(clock)\", which can be set"
        }
    }

    /// The system's error message, as the end of a sentence.
    private var cause: String { failure.map { ": \($0)" } ?? "" }

    /// What to do about it; `nil` if there is no advice.
    public var advice: String? { advice(in: .library) }

    /// The advice in the words of its reader.
    package func advice(in vocabulary: SensorVocabulary) -> String? {
        switch reason {
        case .cannotOpen where busError.kind == .accessDenied, .cannotWrite where busError.kind == .accessDenied:
            return """
                install Jostle's udev rule, which gives such devices to group iio (sudo make install, or \
                deploy/udev/60-jostle.rules), add the user to it: sudo usermod -aG iio $USER, then log in again
                """
        case .inUse(let holder):
            guard holder.processIdentifier == nil else { return holder.advice(in: vocabulary) }
            return """
                stop the program that uses it, perhaps another Jostle, or iio-sensor-proxy: sudo systemctl stop \
                iio-sensor-proxy
                """
        case .cannotWrite where busError.kind == .busy:
            return "another program uses the device: stop it"
        case .notFound:
            return "\(vocabulary.scan) lists the available devices"
        case .wallClock:
            return "set it as root: echo monotonic | sudo tee /sys/bus/iio/devices/iio:device*/current_timestamp_clock"
        case .cannotOpen, .cannotWrite, .cannotRead, .notKept, .unknownFormat:
            return nil
        }
    }
}

extension IIODevice {
    /// The device's name for messages: "iio:device0 (mpu6050)".
    public var title: String { name.map { "\(identifier) (\($0))" } ?? identifier }
}
