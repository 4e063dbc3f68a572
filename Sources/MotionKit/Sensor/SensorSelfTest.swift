package import IMUDrivers
package import LinuxSensors

/// Runs the self-test of a chip on one of this machine's buses.
package enum SensorSelfTest {
    /// Why there is no result.
    package enum Failure: Error, Equatable, Sendable {
        /// It is a chip of this name, whose self-test is another.
        case anotherChip(String)
        /// The chip cannot be had: no permission, or somebody else uses it.
        case unavailable(LinuxSensorsError)
        /// The test was not finished.
        case interrupted(IMUFault)
    }

    /// Tests a chip that was found: an MPU-6050, the only one whose self-test is known here.
    ///
    /// - Throws: as `run(at:)`.
    package static func run(on choice: SensorScan.Choice) throws(Failure) -> MPU6050SelfTestReport {
        guard choice.family == .mpu6050, choice.identity == 0x68 else { throw .anotherChip(choice.name) }
        return try run(at: choice.place)
    }

    /// Tests the MPU-6050 at `place`, which is held against other programs meanwhile; takes 1.2 s.
    ///
    /// - Throws: what keeps the test from its end. What the test finds, be it bad, is no error.
    package static func run(at place: SensorScan.Place) throws(Failure) -> MPU6050SelfTestReport {
        let clock = SystemClock()
        var test: MPU6050SelfTest<I2CDevice, SystemClock>
        do throws(LinuxSensorsError) {
            test = MPU6050SelfTest(bus: try I2CDevice(path: place.bus, address: place.address), clock: clock)
        } catch {
            throw .unavailable(error)
        }
        while true {
            do throws(IMUFault) {
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
        case .anotherChip(let name): "the self-test is that of an MPU-6050; this chip is: \(name)"
        case .unavailable(let error): SensorError.unavailable(error).description(in: .agent)
        case .interrupted(let fault): "the self-test was not finished: \(fault.explanation)"
        }
    }
}

extension MPU6050SelfTestReport.Disturbance {
    /// What was seen of the movement, for people.
    package var explanation: String {
        let place = "\(sensor == .gyroscope ? "gyroscope's" : "accelerometer's") \(["x", "y", "z"][axis]) axis"
        let value =
            sensor == .gyroscope
            ? "\(fixed(amount * 180 / .pi, decimals: 1)) °/s" : "\(fixed(amount, decimals: 2)) m/s²"
        switch kind {
        case .spread: return "the \(place) spread by \(value)"
        case .shift: return "the \(place) was not the same before and after, by \(value)"
        }
    }
}
