internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore

/// What a kernel sensor reads: one or two devices' buffers, or single values.
struct KernelSource {
    /// The device with the accelerometer.
    let device: IIODevice
    let info: IMUInfo
    /// Buffers; `nil` where the device is read value by value.
    let accelerometer: IIOCapture?
    let gyroscope: IIOCapture?
    let values: IIORawReader?
    let gyroscopeValues: IIORawReader?
    /// What people should know of the way it is read.
    let remark: String
    /// Turns the gyroscope's axes into the accelerometer's; `nil` where they are the same.
    let gyroscopeTurn: Matrix3?

    var hasTemperature: Bool { accelerometer?.hasTemperature == true }
    var hasTime: Bool { accelerometer?.hasTime == true }

    /// Whether a living sensor never gives the same sample for a second: accelerometer and gyroscope together do not where
    /// both have 16 bits of usual ranges. Sensor hubs round to larger steps than their noise.
    var isNoisy: Bool {
        guard let accelerometer, info.gyroscopeRange > 0 else { return false }
        return accelerometer.resolution >= 16 && (gyroscope ?? accelerometer).resolution >= 16
            && info.accelerometerRange < 17 * standardGravity && info.gyroscopeRange < 45
    }

    /// Opens the devices of a sensor.
    ///
    /// - Throws: `IIOError`; the devices are then as they were.
    static func open(
        _ accelerometer: IIODevice, _ gyroscope: IIODevice?, _ settings: IMUSettings, in places: IIOPlaces
    ) throws(IIOError) -> KernelSource {
        let turn = turn(of: gyroscope ?? accelerometer, to: accelerometer)
        guard let main = try IIOCapture.open(accelerometer, settings, in: places) else {
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
                remark: ", value by value (no buffer, or no trigger to fill it)", gyroscopeTurn: turn)
        }
        var remark = main.trigger.map { ", trigger \($0)" } ?? ""
        var second: IIOCapture?
        if let gyroscope {
            if main.hasTime { second = try IIOCapture.open(gyroscope, settings, in: places) }
            if second?.hasTime == false { second = nil }
            if second == nil { remark += ", without the gyroscope: it has no buffer, or no times" }
        }
        return KernelSource(
            device: accelerometer,
            info: info(
                rate: main.rate ?? settings.rate, accelerometerRange: main.accelerometerRange,
                gyroscopeRange: second?.gyroscopeRange ?? main.gyroscopeRange),
            accelerometer: main, gyroscope: second, values: nil, gyroscopeValues: nil, remark: remark,
            gyroscopeTurn: turn)
    }

    /// Switches the devices off and puts back what was changed.
    ///
    /// - Throws: the first thing that could not be.
    func stop() throws(BusError) {
        var failure: BusError?
        do throws(BusError) { try gyroscope?.stop() } catch { failure = error }
        do throws(BusError) { try accelerometer?.stop() } catch { failure = failure ?? error }
        do throws(BusError) { try gyroscopeValues?.stop() } catch { failure = failure ?? error }
        do throws(BusError) { try values?.stop() } catch { failure = failure ?? error }
        if let failure { throw failure }
    }

    private static func info(rate: Double, accelerometerRange: Double, gyroscopeRange: Double) -> IMUInfo {
        // What the driver set the low-pass to is not told in any common way.
        IMUInfo(
            name: "kernel driver's device", identity: 0, nominalRate: rate, accelerometerRange: accelerometerRange,
            gyroscopeRange: gyroscopeRange, bandwidth: .nan)
    }

    /// The kernel's matrices lead from each sensor to the board; together, from the gyroscope to the accelerometer.
    private static func turn(of gyroscope: IIODevice, to accelerometer: IIODevice) -> Matrix3? {
        guard let from = gyroscope.mountMatrix(of: .rotationRate),
            let to = accelerometer.mountMatrix(of: .acceleration), from != to
        else { return nil }
        return to.transposed * from
    }
}
