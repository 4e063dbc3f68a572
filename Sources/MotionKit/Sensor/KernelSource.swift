internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore

/// The open devices of a kernel sensor, read through buffers or value by value.
struct KernelSource {
    /// The device with the accelerometer.
    let device: IIODevice
    let info: IMUInfo
    /// The buffers; `nil` if the device is read value by value.
    let accelerometer: IIOCapture?
    let gyroscope: IIOCapture?
    let values: IIORawReader?
    let gyroscopeValues: IIORawReader?
    /// How the device is read, for the title.
    let remark: String
    /// From the gyroscope's axes to the accelerometer's; `nil` if they are the same.
    let gyroscopeRotation: Matrix3?

    var hasTemperature: Bool { accelerometer?.hasTemperature == true }
    /// Whether the samples of the accelerometer's device come with a magnetic field.
    var hasField: Bool { accelerometer?.hasField == true }
    var hasTime: Bool { accelerometer?.hasTime == true }

    /// Whether noise changes some bit of the samples at least once a second. This is true of an accelerometer together with
    /// a gyroscope if both have 16 bits and usual ranges. Sensor hubs, in contrast, round to steps larger than their noise.
    var isNoisy: Bool {
        guard let accelerometer, info.gyroscopeRange > 0 else { return false }
        return accelerometer.resolution >= 16 && (gyroscope ?? accelerometer).resolution >= 16
            && info.accelerometerRange < 17 * standardGravity && info.gyroscopeRange < 45
    }

    /// Opens the devices of a sensor. If it `readsValues`, no buffer is used.
    ///
    /// - Throws: `IIOError`, after restoring the settings of the devices.
    static func open(
        _ accelerometer: IIODevice, _ gyroscope: IIODevice?, _ settings: IMUSettings, in places: IIOPlaces,
        readsValues: Bool = false
    ) throws(IIOError) -> KernelSource {
        let rotation = rotation(from: gyroscope ?? accelerometer, to: accelerometer)
        guard let main = readsValues ? nil : try IIOCapture.open(accelerometer, settings, in: places) else {
            let values = try IIORawReader.open(accelerometer, settings, in: places)
            var second: IIORawReader?
            if let gyroscope { second = try IIORawReader.open(gyroscope, settings, in: places) }
            let hasGyroscope = gyroscope != nil || accelerometer.quantities.contains(.rotationRate)
            return KernelSource(
                device: accelerometer,
                info: info(
                    rate: min(settings.rate, IIORawReader.fastest), accelerometerRange: .infinity,
                    gyroscopeRange: hasGyroscope ? .infinity : 0),
                accelerometer: nil, gyroscope: nil, values: values, gyroscopeValues: second,
                remark: ", value by value (no buffer, or no trigger to fill it)", gyroscopeRotation: rotation)
        }
        var remark = main.trigger.map { ", trigger \($0)" } ?? ""
        var second: IIOCapture?
        if let gyroscope {
            if main.hasTime { second = try IIOCapture.open(gyroscope, settings, in: places) }
            if second?.hasTime == false { second = nil }
            if second == nil { remark += ", without the gyroscope: it has no buffer, or no timestamps" }
        }
        return KernelSource(
            device: accelerometer,
            info: info(
                rate: main.rate ?? settings.rate, accelerometerRange: main.accelerometerRange,
                gyroscopeRange: second?.gyroscopeRange ?? main.gyroscopeRange),
            accelerometer: main, gyroscope: second, values: nil, gyroscopeValues: nil, remark: remark,
            gyroscopeRotation: rotation)
    }

    /// Switches the devices off and restores their settings.
    ///
    /// - Throws: the first error; the other devices are switched off nevertheless.
    func stop() throws(BusError) {
        var failure: BusError?
        do throws(BusError) { try gyroscope?.stop() } catch { failure = error }
        do throws(BusError) { try accelerometer?.stop() } catch { failure = failure ?? error }
        do throws(BusError) { try gyroscopeValues?.stop() } catch { failure = failure ?? error }
        do throws(BusError) { try values?.stop() } catch { failure = failure ?? error }
        if let failure { throw failure }
    }

    private static func info(rate: Double, accelerometerRange: Double, gyroscopeRange: Double) -> IMUInfo {
        // Drivers have no common way to report the cut-off of their low-pass filter.
        IMUInfo(
            name: "kernel driver's device", identity: 0, nominalRate: rate, accelerometerRange: accelerometerRange,
            gyroscopeRange: gyroscopeRange, bandwidth: .nan)
    }

    /// The kernel's mount matrices lead from each sensor to the board. Combined, they lead from the gyroscope to the
    /// accelerometer.
    private static func rotation(from gyroscope: IIODevice, to accelerometer: IIODevice) -> Matrix3? {
        guard let from = gyroscope.mountMatrix(of: .rotationRate),
            let to = accelerometer.mountMatrix(of: .acceleration), from != to
        else { return nil }
        return to.transposed * from
    }
}
