internal import Glibc
public import IMUDrivers
public import LinuxSystem

/// Why a kernel driver's device cannot be used, and what to do about it.
public struct IIOError: Error, Equatable, Sendable {
    /// What stands in the way.
    package enum Reason: Equatable, Sendable {
        /// No device is called so, or none has an accelerometer; what there is instead.
        case notFound(known: [String])
        /// The device file cannot be opened.
        case cannotOpen
        /// An attribute cannot be set.
        case cannotWrite(attribute: String)
        /// An attribute that must be there cannot be read.
        case cannotRead(attribute: String)
        /// An attribute did not take what was written.
        case notTaken(attribute: String, value: String, found: String)
        /// A channel is stored in a way that cannot be read.
        case unknownFormat(channel: String, String)
        /// Its samples carry the wall clock's time, and it takes no other.
        case wallClock(String)
    }

    package var reason: Reason

    /// The device: "iio:device0 (mpu6050)", or the name that was asked for.
    public var device: String

    /// What the system call answered; `nil` if none failed.
    public var failure: SystemFailure?

    /// Names what stands in the way, the device and the failure behind it.
    package init(_ reason: Reason, device: String, _ failure: SystemFailure? = nil) {
        self.reason = reason
        self.device = device
        self.failure = failure
    }

    /// The same as drivers say it.
    public var busError: BusError {
        if case .notFound = reason { return BusError(.absent, code: ENODEV) }
        return failure.map { .opening($0) } ?? BusError(.unsupported)
    }
}

extension IIOError: CustomStringConvertible {
    /// One sentence that says what is wrong, without advice.
    public var description: String {
        switch reason {
        case .notFound(let known):
            let there = known.isEmpty ? "there is none" : "there is \(known.joined(separator: ", "))"
            return device == "auto"
                ? "no kernel driver has an accelerometer; of its kind of device (IIO) \(there)"
                : "no kernel driver's device with an accelerometer is called \"\(device)\"; \(there)"
        case .cannotOpen: return "\(device): cannot be opened\(cause)"
        case .cannotWrite(let attribute): return "\(device): \(attribute) cannot be set\(cause)"
        case .cannotRead(let attribute): return "\(device): \(attribute) cannot be read"
        case .notTaken(let attribute, let value, let found):
            return "\(device): \(attribute) is \(found) after \(value) was written"
        case .unknownFormat(let channel, let text):
            return "\(device): \(channel) is stored as \"\(text)\", which is not known"
        case .wallClock(let clock):
            return "\(device): its samples carry the time of the clock \"\(clock)\", which can be set"
        }
    }

    /// The system's words for it, as the end of a sentence.
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
        case .cannotOpen where busError.kind == .busy:
            return "another program reads it, perhaps iio-sensor-proxy: sudo systemctl stop iio-sensor-proxy"
        case .cannotWrite where busError.kind == .busy:
            return "another program uses the device: stop it"
        case .notFound:
            return "\(vocabulary.scan) lists what there is"
        case .wallClock:
            return "set it as root: echo monotonic | sudo tee /sys/bus/iio/devices/iio:device*/current_timestamp_clock"
        case .cannotOpen, .cannotWrite, .cannotRead, .notTaken, .unknownFormat:
            return nil
        }
    }
}

extension IIODevice {
    /// The device for people: "iio:device0 (mpu6050)".
    public var title: String { name.map { "\(identifier) (\($0))" } ?? identifier }
}
