import Testing

@testable import IMUDrivers

/// Requirement: the calculated bus load of a rate includes everything that the bus carries.
@Suite struct BusLoadTests {
    private func settings(rate: Double, batch: Double = 0.02) -> IMUSettings {
        var settings = IMUSettings()
        settings.rate = rate
        settings.batchInterval = batch
        return settings
    }

    private func load<Part: ChipPart>(_ part: Part.Type, rate: Double, batch: Double = 0.02) -> BusLoad {
        let settings = settings(rate: rate, batch: batch)
        return BusLoad(of: Part.init(settings:), settings: settings)
    }

    @Test(
        "An MPU-6050 at 200 Hz needs four frames of 14 bytes, a count and two ranges 50 times a second, and ten checks")
    func mpu6050() {
        let load = load(MPUFamily.self, rate: 200)
        #expect(load.rate == 200 && load.highestRate == 1000)
        #expect(load.frameLength == 14 && load.batch == 4 && load.fifoFrames == 73)
        // A read has 30 bits besides its bytes, which have nine bits each.
        let data: Double = 50 * (30 + 9 * 56)
        let count: Double = 50 * (30 + 9 * 2)
        let ranges: Double = 50 * (30 + 9 * 2)
        let checks: Double = 10 * (30 + 9 * 4)
        #expect(abs(load.bitsPerSecond - (data + count + ranges + checks)) < 1e-6)
        #expect(load.fits(clock: 100_000))
        #expect(abs(load.share(ofClock: 100_000) - 0.3216) < 1e-4)
    }

    @Test("The ranges of an ICM-20948 are in another bank, which is selected and left again")
    func icm20948() {
        let load = load(ICM20948Family.self, rate: 225)
        #expect(load.batch == 5 && load.frameLength == 14)
        let ranges = 2 * (30 + 9.0) + 2 * (2 + 27.0)
        #expect(abs(load.bitsPerSecond - (45 * (30.0 + 9 * 70 + 30 + 9 * 2 + ranges) + 2 * 660)) < 1e-6)
    }

    @Test("1000 Hz exceed a 100 kHz bus and use half of a 400 kHz bus; the highest rate at 100 kHz is 500 Hz")
    func bounds() {
        let load = load(MPUFamily.self, rate: 1000)
        #expect(load.share(ofClock: 100_000) > 1)
        #expect(load.fits(clock: 400_000))
        let make = { (settings: IMUSettings) in MPUFamily(settings: settings) }
        #expect(BusLoad.highestRate(of: make, settings: settings(rate: 1e9), clock: 100_000) == 500)
        #expect(BusLoad.highestRate(of: make, settings: settings(rate: 1e9), clock: 400_000) == 1000)
        #expect(BusLoad.highestRate(of: make, settings: settings(rate: 1e9), clock: 100) == nil)
    }

    @Test("Each sample of an ADXL345 needs a separate read")
    func adxl345() {
        let load = load(ADXL345Family.self, rate: 800)
        #expect(load.highestRate == 800)
        let reads: Double = 800 * (30 + 9 * 6)
        let countsAndRanges: Double = 50 * 2 * (30 + 9)
        #expect(abs(load.bitsPerSecond - (reads + countsAndRanges + 660)) < 1e-6)
        #expect(!load.fits(clock: 80_000))
    }

    @Test("A batch has at most half of the FIFO's frames")
    func fifo() {
        let load = load(MPUFamily.self, rate: 200, batch: 1)
        #expect(load.wantedBatch == 200 && load.batch == 36)
        #expect(load.bitsPerSecond > 200 * 14 * 9)
    }

    @Test(
        "The highest rate of each family",
        arguments: [(0, 1000.0), (1, 1600), (2, 1000), (3, 1660), (4, 800)] as [(Int, Double)])
    func highest(index: Int, rate: Double) {
        let loads = [
            load(MPUFamily.self, rate: 200), load(BMI160Family.self, rate: 200), load(ICM42688Family.self, rate: 200),
            load(LSM6DSFamily.self, rate: 200), load(ADXL345Family.self, rate: 200),
        ]
        #expect(loads[index].highestRate == rate)
    }
}
