import Testing

@testable import IMUDrivers

/// Requirement: configuration, read-back and health check of every chip use one table, and leave none of its rows out.
@Suite struct RegisterTableTests {
    @Test(
        "A register is correct if its set bits are set and its clear bits are clear; others are ignored",
        arguments: [(0x82, true), (0x02, true), (0x03, false), (0x00, false), (0x12, false)] as [(UInt8, Bool)])
    func holds(found: UInt8, isRight: Bool) {
        let setting = RegisterSetting(RegisterAddress(0x1A), set: RegisterValue(0x02), clear: RegisterValue(0x7F))
        #expect(setting.holds(in: RegisterValue(found)) == isRight)
        let whole = RegisterSetting(RegisterAddress(0x1A), set: RegisterValue(0x02))
        #expect(whole.holds(in: RegisterValue(found)) == (found == 0x02))
    }

    @Test("Adjacent registers form groups of at most four, ordered by their first appearance in the table")
    func groups() {
        var table = RegisterTable()
        for number in [0x40, 0x12, 0x10, 0xFF, 0x14, 0x11, 0x13, 0xFE, 0x42] as [UInt8] {
            table.add(RegisterAddress(number), .none, in: .configuration)
        }
        table.formGroups()
        var found: [[Int]] = []
        let count = table.groupCount
        for number in 0..<count {
            let group = table.group(number)
            found.append([Int(group.first.number), group.count])
        }
        #expect(found == [[0x40, 1], [0x10, 4], [0xFE, 2], [0x14, 1], [0x42, 1]])
    }

    @Test("Ranges that are at most four registers apart are read together, those of different banks never")
    func ranges() {
        var table = RegisterTable()
        let registers = [(0x20, 0), (0x13, 0), (0x10, 0), (0x0F, 0), (0x10, 2), (0x12, 2)] as [(UInt8, UInt8)]
        for (number, bank) in registers {
            table.addRange(RegisterAddress(number, bank: bank), RegisterValue(number), in: .configuration)
        }
        table.add(RegisterAddress(0x11), .none, in: .configuration)
        table.formGroups()
        var found: [[Int]] = []
        let count = table.rangeCount
        for number in 0..<count {
            let run = table.range(number)
            found.append([Int(run.first.number), run.count, Int(run.first.bank)])
        }
        #expect(found == [[0x20, 1, 0], [0x10, 4, 0], [0x0F, 1, 0], [0x10, 3, 2]])
        func changed(_ number: Int, _ bytes: [UInt8]) -> UInt8? {
            let run = table.range(number)
            return bytes.withUnsafeBytes { table.changedRegister(in: run, reading: $0)?.number }
        }
        // 0x12 is in no setting of the first bank, and 0x11 in none of the other.
        #expect(changed(1, [0x10, 0x00, 0xFF, 0x13]) == nil && changed(3, [0x10, 0xFF, 0x12]) == nil)
        #expect(changed(1, [0x10, 0x01, 0xFF, 0x13]) == 0x11 && changed(3, [0x10, 0xFF, 0x13]) == 0x12)
    }

    @Test("Finds the first register of a group whose content has changed")
    func changedRegister() {
        var table = RegisterTable()
        table.add(RegisterAddress(0x10), RegisterValue(0x81), in: .configuration)
        table.add(RegisterSetting(RegisterAddress(0x11), clear: RegisterValue(0x0F)), in: .observed)
        table.add(RegisterAddress(0x12), RegisterValue(0x27), in: .fifo)
        table.formGroups()
        let group = table.group(0)
        func changed(_ bytes: [UInt8]) -> UInt8? {
            bytes.withUnsafeBytes { table.changedRegister(in: group, reading: $0)?.number }
        }
        #expect(changed([0x81, 0xF0, 0x27]) == nil)
        #expect(changed([0x81, 0xF8, 0x26]) == 0x11)
        #expect(changed([0x81, 0x00, 0x26]) == 0x12)
        #expect(changed([0x01, 0x01, 0x27]) == 0x10)
    }

    @Test(
        "For every chip, each stage of the table is written and read back, and each register is checked once per round",
        arguments: [
            (.mpu6050, 0x68), (.mpu6050, 0x70), (.mpu6050, 0x12), (.mpu6050, 0x98), (.icm42688, 0x42),
            (.icm42688, 0x47),
            (.lsm6ds, 0x69), (.lsm6ds, 0x6A), (.lsm6ds, 0x6B), (.lsm6ds, 0x6C), (.bmi160, 0xD1), (.adxl345, 0xE5),
            (.lsm6dso32, 0x6C), (.adxl375, 0xE5), (.icm20948, 0xEA), (.lsm9ds1, 0x68), (.lis3dh, 0x33),
            (.lis2de12, 0x33),
        ] as [(IMUFamily, UInt8)], [false, true])
    func families(chip: (family: IMUFamily, identity: UInt8), isWired: Bool) throws {
        let part = try #require(chip.family.part(chip.identity, isWired: isWired))
        let rows = part.plannedRegisters
        let steps = part.plannedBringUp
        let starts = part.plannedFIFOStart
        for stage in [RegisterStage.waking, .configuration, .sensors, .dataReady] {
            let isWritten = steps.contains(.apply(stage)) || steps.contains(.configure(stage))
            let isReadBack = steps.contains(.verify(stage)) || steps.contains(.configure(stage))
            #expect(isWritten && isReadBack || !rows.contains { $0.stage == stage }, "\(stage)")
        }
        #expect(rows.contains { $0.stage == .fifo } == starts.contains(.apply(.fifo)))
        #expect(!starts.isEmpty)
        let looked = part.plannedGroups.flatMap { $0 }
        #expect(looked.sorted() == rows.map(\.register).sorted())
        let hasBanks = chip.family.part.bankRegister != nil
        #expect(part.plannedGroups.count <= (hasBanks ? 10 : 6), "a full check takes too long")
        #expect(!part.plannedRanges.isEmpty)
        #expect(part.fifo.size <= chip.family.part.largestFIFO)
    }
}
