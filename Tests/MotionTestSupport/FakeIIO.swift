import Foundation

/// A fake sysfs with IIO devices in a temporary directory. Each device file is a FIFO; its end of file means that the
/// device was unbound.
package final class FakeIIO {
    /// The directories in place of /sys and /dev.
    package let system: String
    package let devices: String

    private let root: String
    private var streams: [Int: Int32] = [:]

    /// Creates it without devices.
    package init() throws {
        root = NSTemporaryDirectory() + "jostle-iio-\(UUID().uuidString)"
        system = root + "/sys"
        devices = root + "/dev"
        for path in [devices, system + "/bus/iio/devices", system + "/devices"] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
    }

    deinit {
        for stream in streams.values { close(stream) }
        try? FileManager.default.removeItem(atPath: root)
    }

    /// Adds a device of some hardware, for example "i2c-1/1-0068", with its attributes; attribute names with `/` are in
    /// subdirectories. Without a device file, it is as the kernel lists devices without buffer and events.
    package func add(
        _ number: Int, hardware: String, _ attributes: [String: String], hasFile: Bool = true
    ) throws {
        try makeNode("iio:device\(number)", below: hardware, attributes)
        guard hasFile else { return }
        let file = devices + "/iio:device\(number)"
        guard mkfifo(file, 0o600) == 0 else { throw POSIXError(.EIO) }
        let stream = open(file, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard stream >= 0 else { throw POSIXError(.EIO) }
        streams[number] = stream
    }

    /// Adds a trigger; one with a `sampling_frequency` is a timer.
    package func addTrigger(_ number: Int, hardware: String = "", _ attributes: [String: String]) throws {
        try makeNode("trigger\(number)", below: hardware, attributes)
    }

    /// Writes a measurement of a device.
    package func feed(_ number: Int, _ bytes: [UInt8]) {
        guard let stream = streams[number] else { return }
        let written = bytes.withUnsafeBytes { write(stream, $0.baseAddress, $0.count) }
        precondition(written == bytes.count, "the FIFO is full")
    }

    /// Unbinds a device: its file ends, and sysfs removes it.
    package func remove(_ number: Int) throws {
        if let stream = streams.removeValue(forKey: number) {
            close(stream)
            try FileManager.default.removeItem(atPath: devices + "/iio:device\(number)")
        }
        let link = system + "/bus/iio/devices/iio:device\(number)"
        try FileManager.default.removeItem(atPath: URL(fileURLWithPath: link).resolvingSymlinksInPath().path)
        try FileManager.default.removeItem(atPath: link)
    }

    /// The contents of an attribute; `nil` if it does not exist.
    package func value(_ node: String, _ attribute: String) -> String? {
        let text = try? String(contentsOfFile: "\(system)/bus/iio/devices/\(node)/\(attribute)", encoding: .utf8)
        return text?.trimmingCharacters(in: .newlines)
    }

    /// Sets an attribute as the kernel would.
    package func set(_ node: String, _ attribute: String, to value: String) throws {
        let path = "\(system)/bus/iio/devices/\(node)/\(attribute)"
        try (value + "\n").write(toFile: path, atomically: false, encoding: .utf8)
    }

    /// Replaces an attribute by a link to another file.
    package func link(_ node: String, _ attribute: String, to target: String) throws {
        let path = "\(system)/bus/iio/devices/\(node)/\(attribute)"
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    /// Makes a link below the hardware, for example "i2c-1/i2c-11/mux_device", to other hardware.
    package func linkHardware(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: "\(system)/devices/\(path)", withDestinationPath: "\(system)/devices/\(target)")
    }

    /// Binds a kernel driver to some hardware, for example "inv-mpu6050-i2c" to "i2c-1/1-0068".
    package func bind(_ hardware: String, to driver: String) throws {
        let path = "\(system)/bus/i2c/drivers/\(driver)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: "\(system)/devices/\(hardware)/driver", withDestinationPath: path)
    }

    private func makeNode(_ name: String, below hardware: String, _ attributes: [String: String]) throws {
        let path = system + "/devices/" + (hardware.isEmpty ? "" : hardware + "/") + name
        for (attribute, value) in attributes {
            let file = path + "/" + attribute
            let directory = (file as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try (value + "\n").write(toFile: file, atomically: false, encoding: .utf8)
        }
        try FileManager.default.createSymbolicLink(
            atPath: system + "/bus/iio/devices/" + name, withDestinationPath: path)
    }
}

/// Attributes of common devices.
extension FakeIIO {
    /// Channels in the order of their indices, each with its type, disabled.
    package static func channels(_ directory: String, _ channels: [(name: String, type: String)]) -> [String: String] {
        var attributes: [String: String] = [:]
        for (index, channel) in channels.enumerated() {
            attributes["\(directory)/\(channel.name)_en"] = "0"
            attributes["\(directory)/\(channel.name)_index"] = "\(index)"
            attributes["\(directory)/\(channel.name)_type"] = channel.type
        }
        return attributes
    }

    /// A buffer as in recent kernels, `buffer0`, with a clock.
    package static let buffer = [
        "buffer0/enable": "0", "buffer0/length": "2", "buffer0/watermark": "1", "current_timestamp_clock": "realtime",
    ]

    /// Three axes of a quantity: values that can be read individually, scales and rates to choose from.
    package static func axes(_ prefix: String, scale: String, scales: String) -> [String: String] {
        [
            "\(prefix)_x_raw": "11", "\(prefix)_y_raw": "-12", "\(prefix)_z_raw": "13", "\(prefix)_scale": scale,
            "\(prefix)_scale_available": scales,
        ]
    }

    /// An MPU-6050 with the driver inv_mpu6050: a single device, big-endian, with its own trigger.
    package static let mpu6050: [String: String] = {
        var attributes = channels(
            "buffer0",
            ["in_accel_x", "in_accel_y", "in_accel_z", "in_temp", "in_anglvel_x", "in_anglvel_y", "in_anglvel_z"]
                .map { ($0, "be:s16/16>>0") } + [("in_timestamp", "le:s64/64>>0")])
        attributes.merge(buffer) { $1 }
        attributes.merge(
            axes("in_accel", scale: "0.000598", scales: "0.000598 0.001196 0.002392 0.004785")
        ) { $1 }
        attributes.merge(
            axes("in_anglvel", scale: "0.001064724", scales: "0.000133090 0.000266181 0.000532362 0.001064724")
        ) { $1 }
        attributes.merge([
            "name": "mpu6050", "sampling_frequency": "50", "sampling_frequency_available": "10 20 50 100 200 500",
            "in_temp_raw": "-521", "in_temp_scale": "2.941176", "in_temp_offset": "12420",
            "trigger/current_trigger": "mpu6050-dev0",
        ]) { $1 }
        return attributes
    }()

    /// An MPU-9250 with the driver inv_mpu6050, which reads its magnetometer, too. Bind it to "inv-mpu6050-i2c".
    package static let mpu9250: [String: String] = {
        let names = [
            "in_accel_x", "in_accel_y", "in_accel_z", "in_temp", "in_anglvel_x", "in_anglvel_y", "in_anglvel_z",
        ]
        var attributes = mpu6050
        attributes.merge(
            channels(
                "buffer0",
                (names + ["in_magn_x", "in_magn_y", "in_magn_z"]).map { ($0, "be:s16/16>>0") }
                    + [("in_timestamp", "le:s64/64>>0")])
        ) { $1 }
        attributes.merge(magnetometer("mpu9250", [100, -200, 300])) { $1 }
        return attributes
    }()

    /// A magnetometer with these raw values of 0.15 µT, without a buffer.
    package static func magnetometer(_ name: String, _ values: [Int]) -> [String: String] {
        var attributes = ["name": name]
        for (letter, value) in zip(["x", "y", "z"], values) {
            attributes["in_magn_\(letter)_raw"] = "\(value)"
            attributes["in_magn_\(letter)_scale"] = "0.001500"
        }
        return attributes
    }

    /// One of the two devices that st_lsm6dsx creates for a chip: little-endian, without a trigger.
    package static func lsm6dso(_ prefix: String, name: String, scale: String, scales: String) -> [String: String] {
        var attributes = channels(
            "buffer0",
            ["x", "y", "z"].map { ("\(prefix)_\($0)", "le:s16/16>>0") } + [("in_timestamp", "le:s64/64>>0")])
        attributes.merge(buffer) { $1 }
        attributes.merge(axes(prefix, scale: scale, scales: scales)) { $1 }
        attributes["name"] = name
        attributes["sampling_frequency"] = "12.500"
        attributes["sampling_frequency_available"] = "12.500 26.000 52.000 104.000 208.000 416.000"
        return attributes
    }

    /// The accelerometer of an LSM6DSO.
    package static let lsm6dsoAccelerometer = lsm6dso(
        "in_accel", name: "lsm6dso_accel", scale: "0.000598", scales: "0.000598 0.001196 0.002392 0.004785")

    /// The gyroscope of an LSM6DSO.
    package static let lsm6dsoGyroscope = lsm6dso(
        "in_anglvel", name: "lsm6dso_gyro", scale: "0.000152716",
        scales: "0.000152716 0.000305432 0.000610865 0.001221730")

    /// An accelerometer without a buffer, as with adxl345_core before Linux 6.15.
    package static let adxl345: [String: String] = [
        "name": "adxl345", "in_accel_x_raw": "31", "in_accel_y_raw": "-62", "in_accel_z_raw": "256",
        "in_accel_scale": "0.038300", "in_accel_sampling_frequency": "100.000000",
        "in_accel_sampling_frequency_available": "25 50 100 200 400",
    ]

    /// The bytes of a frame with these values.
    package static func bytes(_ values: [Int16], bigEndian: Bool, padding: Int = 0, time: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        for value in values {
            let word = bigEndian ? value.bigEndian : value.littleEndian
            withUnsafeBytes(of: word) { bytes += $0 }
        }
        bytes += [UInt8](repeating: 0xAA, count: padding)
        withUnsafeBytes(of: time.littleEndian) { bytes += $0 }
        return bytes
    }
}
