import BrokerTestSupport
import IMUDrivers
import LinuxSensors
import Testing

@testable import MotionKit

/// Requirement: a rate that is too high for the chip or the bus is refused with the calculation and advice.
@Suite struct SensorRateTests {
    private let rig = Rig()

    private func rate(
        of family: IMUFamily = .mpu6050, _ hertz: Double, batch: Double = 0.02, bus: SensorBusClock = .known(100_000)
    ) throws -> SensorRate {
        var settings = IMUSettings()
        settings.rate = hertz
        settings.batchInterval = batch
        let chip = try #require(ChipRegistry.all.first { $0.family == family })
        return try #require(chip.rate(settings, identity: nil, bus: bus))
    }

    @Test func acceptsRateThatBusCarries() throws {
        for hertz in [4.0, 200, 500] {
            let rate = try rate(hertz)
            #expect(rate.refusal == nil)
            #expect(rate.notes() == [])
        }
        #expect(try rate(1000, bus: .known(400_000)).refusal == nil)
        #expect(try rate(200).summary == "200 Hz take 32 % of the bus; up to 500 Hz are possible")
    }

    @Test func refusesRateBeyondBusWithCalculation() throws {
        let refusal = try #require(try rate(1000).refusal)
        #expect(refusal.reason == .beyondBus)
        let text = "\(refusal)"
        for part in [
            "1000 Hz need 133 % of a 100 kHz bus", "14 bytes a frame, 20 frames a read", "132960 bits a second",
            "of which 80 % may be used", "allowed here: up to 500 Hz", "dtparam=i2c_arm_baudrate=400000",
        ] {
            #expect(text.contains(part), "\(text)")
        }
    }

    @Test func warnsIfBusClockIsUnknown() throws {
        let rate = try rate(1000, bus: .unknown)
        #expect(rate.refusal == nil)
        #expect(rate.notes().count == 1)
        #expect(rate.notes().first?.contains("if it is 100 kHz") == true)
    }

    @Test func refusesRateBeyondChip() throws {
        let refusal = try #require(try rate(of: .adxl345, 1000, bus: .known(400_000)).refusal)
        #expect(refusal.reason == .beyondChip)
        #expect("\(refusal)" == "IMUSettings.rate: the ADXL345 measures up to 800 Hz; 1000 Hz were requested")
        let faster = try #require(try rate(of: .icm42688, 4000, bus: .known(400_000)).refusal)
        #expect(
            faster.description(in: .agent)
                == "sensor.rate: the ICM-42688-P measures up to 1000 Hz, or 4000 Hz with sensor.gyroscope: false; "
                + "4000 Hz were requested")
    }

    @Test func notesDifferentRateAndBatch() throws {
        #expect(try rate(of: .adxl345, 4).notes() == ["IMUSettings.rate: the ADXL345 provides 25 Hz instead of 4 Hz"])
        let notes = try rate(200, batch: 1).notes()
        #expect(notes.count == 1)
        #expect(notes.first?.contains("200 frames of 14 bytes are more than half of the FIFO, which holds 73") == true)
        #expect(notes.first?.contains("every 180 ms") == true)
    }

    @Test func checksRateOnOpening() throws {
        var settings = IMUSettings()
        settings.rate = 1500
        let failure = failure { () throws(SensorError) in _ = try SensorSelection.virtual("rest").open(settings) }
        guard case .rate(let error) = failure else { throw Unexpected(failure) }
        #expect(error.reason == .beyondChip)
        let checked = self.failure { () throws(SensorError) in
            try SensorSelection.chip(family: .adxl345).check(settings)
        }
        #expect("\(String(describing: checked))".contains("up to 800 Hz"))
        settings.rate = 200
        settings.batchInterval = 1
        let device = try SensorSelection.virtual("rest").open(settings)
        #expect(device.notes.count == 1)
    }

    @Test func virtualChipHasVirtualDataReadyLine() async throws {
        var selection = SensorSelection.virtual("rest")
        selection.dataReadyLine = GPIOPlace(line: .number(17))
        let manager = rig.manager(sensor: selection)
        try await manager.start()
        #expect(await eventually { manager.sensorStatus?.dataReady.timedSamples ?? 0 > 100 })
        #expect(manager.sensorStatus?.dataReady.state == .used)
    }

    @Test func reportsMissingDataReadyLine() {
        let error = SensorError.dataReadyLine(GPIOError.missing)
        #expect("\(error)".hasPrefix("SensorSelection.dataReadyLine: line 17 of gpiochip98765: there is no GPIO chip"))
        #expect(!error.isPermission)
    }

    private func failure(_ body: () throws(SensorError) -> Void) -> SensorError? {
        do throws(SensorError) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}

extension GPIOError {
    /// The kernel's error if there is no such chip.
    fileprivate static var missing: GPIOError {
        do throws(GPIOError) {
            _ = try GPIOLine(GPIOPlace(chip: "gpiochip98765", line: .number(17)))
        } catch {
            return error
        }
        preconditionFailure("there is a gpiochip98765")
    }
}
