package import IMUDrivers
public import LinuxSensors
internal import LinuxSystem

/// Why a sensor cannot be used.
public enum SensorError: Error, Sendable {
    /// No supported chip was found. The scan has what was found instead.
    case notFound(SensorScan)
    /// The chip cannot be opened: for lack of permission, for example, or because another program uses it.
    case unavailable(LinuxSensorsError)
    /// The chip or its bus cannot provide the requested rate.
    case rate(SensorRateError)
    /// The data-ready line cannot be opened.
    case dataReadyLine(GPIOError)
    /// The kernel driver's device cannot be used.
    case kernelDevice(IIOError)
    /// There is no trajectory of this name.
    case unknownTrajectory(String, known: [String])
    /// The recording cannot be played.
    case recording(RecordingError)
    /// The system has no file descriptor or thread left.
    case resources
    /// The last run's thread is still waiting for the sensor's bus, after `stop` gave up waiting for it.
    case stillStopping
    /// The reference policy is `.stored`, and the manager was created without a state directory.
    case noStateDirectory

    /// Whether the cause is a lack of permission.
    public var isPermission: Bool {
        switch self {
        case .unavailable(let error): error.busError.kind == .accessDenied
        case .dataReadyLine(let error): error.reason == .accessDenied
        case .kernelDevice(let error): error.busError.kind == .accessDenied
        case .notFound(let scan): scan.buses.contains { $0.failure?.busError.kind == .accessDenied }
        default: false
        }
    }
}

extension SensorError: CustomStringConvertible {
    /// What is wrong, and what to do about it.
    public var description: String { description(in: .library) }

    /// The description in the vocabulary of its reader.
    package func description(in vocabulary: SensorVocabulary) -> String {
        switch self {
        case .notFound(let scan): scan.explanation(in: vocabulary)
        case .unavailable(let error): SensorError.withAdvice(error, vocabulary)
        case .rate(let error): error.description(in: vocabulary)
        case .dataReadyLine(let error):
            "\(vocabulary.dataReadyLine): \(SensorError.withAdvice(error, error.advice))"
        case .kernelDevice(let error): SensorError.withAdvice(error, error.advice(in: vocabulary))
        case .unknownTrajectory(let name, let known):
            "there is no trajectory \"\(name)\"; known are \(known.joined(separator: ", ")), or the path of a recording"
        case .recording(let error): "the recording cannot be played: \(error)"
        case .resources: "the system has no file descriptor or thread left"
        case .stillStopping: "the sensor's bus has not answered since the last stop; try again later"
        case .noStateDirectory: "\(ReferenceError.noStateDirectory)"
        }
    }

    fileprivate static func withAdvice(_ error: LinuxSensorsError, _ vocabulary: SensorVocabulary) -> String {
        withAdvice(error, error.advice(in: vocabulary))
    }

    private static func withAdvice(_ error: some Error, _ advice: String?) -> String {
        advice.map { "\(error); \($0)" } ?? "\(error)"
    }
}

extension SensorScan {
    /// Why no sensor was chosen: one clause for each finding.
    package func explanation(in vocabulary: SensorVocabulary) -> String {
        let chips = chipExplanation(in: vocabulary)
        guard let kernelDevice = KernelSensorChoice(among: kernelDevices) else { return chips }
        return "\(chips); a kernel driver has \(kernelDevice.name), which \(vocabulary.kernelDriver) reads"
    }

    /// Why no chip was chosen.
    private func chipExplanation(in vocabulary: SensorVocabulary) -> String {
        guard !buses.isEmpty else {
            return "there is no I2C bus: enable I2C with sudo raspi-config nonint do_i2c 0, then sudo modprobe i2c-dev"
        }
        var findings: [String] = []
        var silent: Set<UInt8> = []
        var unknown: UInt8?
        for bus in buses {
            if let failure = bus.failure { findings.append(SensorError.withAdvice(failure, vocabulary)) }
            if let limitation = bus.limitation, bus.chips.contains(where: \.isSupported) {
                findings.append(SensorError.withAdvice(limitation, vocabulary))
            }
            for chip in bus.chips {
                let place = "\(bus.path) \(hexadecimal(chip.address))"
                switch chip.finding {
                case .silent: silent.insert(chip.address)
                case .chip(let identity):
                    // A supported chip was not chosen because the user named another family.
                    let wanted = identity.family.map { ", which is what \(vocabulary.driver($0.name)) drives" } ?? ""
                    findings.append("\(place): \(identity.explanation)\(wanted)")
                    if let advice = identity.advice(at: chip.address, on: bus.path, vocabulary) {
                        findings.append(advice)
                    }
                    if identity.name == nil, identity.stranger == nil, !identity.isLineLevel {
                        unknown = unknown ?? chip.address
                    }
                case .untouched: findings.append("\(place): no chip with a driver has this address")
                case .taken(let error): findings.append(SensorError.withAdvice(error, vocabulary))
                case .failed(let error): findings.append("\(place): \(error.explanation)")
                }
            }
        }
        if findings.isEmpty, !silent.isEmpty {
            let paths = buses.map(\.path).joined(separator: ", ")
            let isEverywhere = silent.count >= SensorScan.addresses.count
            let places = isEverywhere ? "" : " at \(silent.sorted().map(hexadecimal).joined(separator: " or "))"
            let advice = isEverywhere ? "" : "; \(vocabulary.everyAddress)"
            return "no chip answers\(places) on \(paths): check the four wires (3V3, GND, SDA, SCL) and look with "
                + "i2cdetect -y\(advice)"
        }
        if let address = unknown, let advice = SensorScan.advice(forUnknownChipAt: address, vocabulary) {
            findings.append(advice)
        }
        return "no usable sensor: " + findings.joined(separator: "; ")
    }

    /// How to use a chip with an unknown identity.
    private static func advice(forUnknownChipAt address: UInt8, _ vocabulary: SensorVocabulary) -> String? {
        let chips = ChipRegistry.candidates(at: address, named: nil, of: ChipRegistry.all)
        guard let chip = chips.first, let usual = chip.usual else { return nil }
        return "if it is a copy of a supported chip, name that chip: \(vocabulary.driver(chip.family.name)) and "
            + "\(vocabulary.identity(hexadecimal(usual.identity))) for the \(usual.name)"
    }
}

extension IMUIdentity {
    /// What the identity means, in words.
    package var explanation: String {
        switch (name, isSupported) {
        case (let name?, true): "\(name)"
        case (let name?, false): "identity \(hexadecimal(identity)), \(name), for which there is no driver"
        case (nil, _) where stranger == .clock: "a real-time clock, and no sensor"
        case (nil, _) where stranger == .otherBank:
            "identity \(hexadecimal(identity)), which is not known; if it is an ICM-20948, another program has left "
                + "another bank of its registers selected: power it off and on"
        case (nil, _) where stranger == .unknown:
            "identity \(hexadecimal(identity)), which no sensor has: another device, such as a memory (EEPROM)"
        case (nil, _) where isLineLevel:
            "identity \(hexadecimal(identity)): no chip has that, the data line (SDA) is stuck "
                + (identity == 0 ? "low, or the chip has no supply" : "high, or the chip sends nothing")
        case (nil, _): "identity \(hexadecimal(identity)), which is not known"
        }
    }
}

extension BusError {
    /// What happened on the bus, in words.
    package var explanation: String {
        let what =
            switch kind {
            case .notAcknowledged: "the chip does not answer"
            case .arbitrationLost: "another master won the bus"
            case .timedOut: "the bus is stuck or too slow"
            case .inputOutput: "the transfer failed"
            case .busy: "another driver or program is using the chip"
            case .accessDenied: "no permission"
            case .absent: "the bus is gone"
            case .unsupported: "the adapter cannot do it"
            case .other: "the transfer failed"
            }
        return code == 0 ? what : "\(what) (\(systemMessage(code)))"
    }
}

extension IMUFault {
    /// What went wrong, in words.
    package var explanation: String {
        switch self {
        case .bus(let error): error.explanation
        case .identity(let found): "another chip answers: its identity is \(hexadecimal(found))"
        case .readBack(let register, let wrote, let read):
            "register \(hexadecimal(register)) reads \(hexadecimal(read)) after \(hexadecimal(wrote)) was written"
        case .deadline(let state): "the chip did not get through \(state)"
        case .overflow: "the FIFO overflowed"
        case .misaligned: "the FIFO does not contain valid frames"
        case .configurationLost(let register):
            "the chip lost its configuration (register \(hexadecimal(register))): it was reset or its supply failed"
        case .stalled: "the chip answers but measures nothing"
        case .noTrigger:
            "the kernel driver delivers nothing; it waits for the chip's INT pin, which may not be wired: its values are "
                + "read one by one, at most 50 a second"
        case .measurement(let fault): fault.explanation
        }
    }
}

extension MeasurementFault {
    /// What cannot be, in words.
    package var explanation: String {
        let (sensor, range) =
            switch self.sensor {
            case .accelerometer: ("accelerometer", "sensor.accelerometer_range")
            case .gyroscope: ("gyroscope", "sensor.gyroscope_range")
            }
        let axis = ["x", "y", "z"][axis]
        return switch kind {
        case .clipped:
            "the \(sensor)'s \(axis) axis is at the end of its range in all samples: the chip or its supply is broken, "
                + "unless it really is exposed to more than \(range)"
        case .constant:
            "the \(sensor)'s \(axis) axis keeps one value, without noise: the chip is broken, or its supply"
        case .zero: "the \(sensor) reads zero in all axes: the chip is broken, or its supply"
        }
    }
}

extension MagnetometerFault {
    /// What went wrong, in words.
    package var explanation: String {
        switch self {
        case .bus(let error): error.explanation
        case .identity(let found): "it answers \(hexadecimal(found)), which is not its identity"
        case .readBack(let register, let wrote, let read):
            "register \(hexadecimal(register)) holds \(hexadecimal(read)) after \(hexadecimal(wrote)) was written"
        case .trim(let found): "its factory value \(hexadecimal(found)) cannot be right"
        case .deadline: "its reset did not end"
        case .configurationLost(let register):
            "register \(hexadecimal(register)) has changed: it was reset, or another program uses it"
        case .stalled: "it answers and does not measure"
        }
    }
}
