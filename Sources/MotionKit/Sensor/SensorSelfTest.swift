package import IMUDrivers
package import LinuxSensors

/// Runs the self-test of a chip on one of this machine's buses.
package enum SensorSelfTest {
    /// Why there is no result.
    package enum Failure: Error, Equatable, Sendable {
        /// The chip, with this name, is not an MPU-6050.
        case anotherChip(String)
        /// The chip cannot be opened: for lack of permission, for example, or because another program uses it.
        case unavailable(LinuxSensorsError)
        /// A fault interrupted the test.
        case interrupted(IMUFault)
    }

    /// Tests the chosen chip, which takes 1.2 s. It must be an MPU-6050: no other self-test is implemented. Other programs
    /// cannot use the chip meanwhile.
    ///
    /// - Throws: `Failure` if the test cannot be completed. A bad result is not an error.
    package static func run(on choice: SensorScan.Choice) throws(Failure) -> MPU6050SelfTestReport {
        guard choice.family == .mpu6050, choice.identity == 0x68 else { throw .anotherChip(choice.name) }
        let place = choice.place
        let clock = SystemClock()
        var test: MPU6050SelfTest<I2CDevice, SystemClock>
        do {
            test = MPU6050SelfTest(bus: try I2CDevice(path: place.bus, address: place.address), clock: clock)
        } catch {
            throw .unavailable(error)
        }
        while true {
            do {
                if let next = try test.poll() {
                    SystemClock.sleep(until: next)
                } else if let report = test.report {
                    return report
                }
            } catch {
                throw .interrupted(error)
            }
        }
    }
}

extension SensorSelfTest.Failure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .anotherChip(let name): "the self-test is only implemented for the MPU-6050; this chip is: \(name)"
        case .unavailable(let error): SensorError.unavailable(error).description(in: .agent)
        case .interrupted(let fault): "the self-test was not finished: \(fault.explanation)"
        }
    }
}

extension MPU6050SelfTestReport.Disturbance {
    /// The movement, in words.
    package var explanation: String {
        let place = "\(sensor == .gyroscope ? "gyroscope's" : "accelerometer's") \(["x", "y", "z"][axis]) axis"
        let value =
            sensor == .gyroscope
            ? "\(fixed(amount * 180 / .pi, decimals: 1)) °/s" : "\(fixed(amount, decimals: 2)) m/s²"
        switch kind {
        case .spread: return "the \(place) had a standard deviation of \(value)"
        case .shift: return "the \(place) changed by \(value) during the test"
        }
    }
}
