import FakeI2CAdapter
import Glibc
import IMUDrivers
import LinuxSensors
import MotionCore
import Testing

/// Requirement: a chip's registers are read and written through i2c-dev by whatever method the adapter supports.
@Suite struct I2CDeviceTests {
    @Test func readsWithOneWriteAndOneReadMessage() throws {
        let fake = try FakeAdapter { $0.single_read_message = true }
        var device = try I2CDevice(path: fake.path, address: 0x68)
        let identity = try device.read(0x75)
        #expect(identity == 0x68)
        let transfer = fake.lastTransfer
        #expect(transfer.smbusSize == -1)
        #expect(
            transfer.messages == [
                .init(address: 0x68, reads: false, length: 1, written: [0x75]),
                .init(address: 0x68, reads: true, length: 1),
            ])
    }

    @Test func readsTwiceWithFourMessagesUnlessTheAdapterRefuses() throws {
        for isRefused in [false, true] {
            let fake = try FakeAdapter { $0.single_read_message = isRefused }
            var device = try I2CDevice(path: fake.path, address: 0x68)
            try device.write(0x1B, 0x18)
            try device.write(0x1C, 0x10)
            let before = fake.transactions
            var ranges: [UInt8] = [0, 0]
            var identity: [UInt8] = [0]
            let isRead = try ranges.withUnsafeMutableBytes { ranges in
                try identity.withUnsafeMutableBytes { try device.read(0x1B, into: ranges, then: 0x75, into: $0) }
            }
            #expect(isRead == !isRefused)
            guard isRead else {
                #expect(ranges == [0, 0] && device.maximumReadLength == 8192)
                continue
            }
            #expect(fake.transactions == before + 1)
            #expect(ranges == [0x18, 0x10] && identity == [0x68])
            #expect(fake.lastTransfer.messages.map(\.length) == [1, 2, 1, 1])
            #expect(fake.lastTransfer.messages.map(\.reads) == [false, true, false, true])
        }
    }

    @Test func writesWithOneMessage() throws {
        let fake = try FakeAdapter()
        var device = try I2CDevice(path: fake.path, address: 0x68)
        try device.write(0x19, 0x04)
        #expect(fake.lastTransfer.messages == [.init(address: 0x68, reads: false, length: 2, written: [0x19, 0x04])])
        let readBack = try device.read(0x19)
        #expect(readBack == 0x04)
    }

    @Test(arguments: [2, 14, 32, 33, 240, 1024, 8192])
    func readsABurstInOneTransaction(length: Int) throws {
        let fake = try FakeAdapter()
        var device = try I2CDevice(path: fake.path, address: 0x68)
        #expect(device.maximumReadLength == 8192)
        try device.write(0x19, 0x13)
        try device.write(0x1A, 0x02)
        let before = fake.transactions
        let content = try device.registers(0x19, length)
        #expect(fake.transactions == before + 1)
        #expect(fake.lastTransfer.messages.map(\.length) == [1, UInt16(length)])
        #expect(content.prefix(2) == [0x13, 0x02])
        #expect(!content.contains(0xEE))
    }

    @Test func refusesAReadLongerThanAMessageWithoutSendingIt() throws {
        let fake = try FakeAdapter()
        var device = try I2CDevice(path: fake.path, address: 0x68)
        let before = fake.transactions
        let error = thrown { () throws(BusError) in _ = try device.registers(0x00, 8193) }
        #expect(error == BusError(.unsupported, code: EINVAL))
        #expect(fake.transactions == before)
    }

    @Test func sendsNothingForAnEmptyRead() throws {
        let fake = try FakeAdapter()
        var device = try I2CDevice(path: fake.path, address: 0x68)
        let before = fake.transactions
        let content = try device.registers(0x75, 0)
        #expect(content.isEmpty)
        #expect(fake.transactions == before)
    }

    @Test func learnsTheLongestReadFromARefusal() throws {
        let fake = try FakeAdapter { $0.longest_read = 60 }
        var device = try I2CDevice(path: fake.path, address: 0x68)
        let error = thrown { () throws(BusError) in _ = try device.registers(0x00, 61) }
        #expect(error == BusError(.unsupported, code: EOPNOTSUPP))
        #expect(device.maximumReadLength == 32)
        let content = try device.registers(0x75, 1)
        #expect(content == [0x68])
    }

    @Test(arguments: [1, 14, 31, 32])
    func usesSMBusBlocksWithoutTransfers(length: Int) throws {
        let fake = try FakeAdapter { $0.functionality = FakeAdapter.smbusBlocks }
        var device = try I2CDevice(path: fake.path, address: 0x68)
        #expect(device.maximumReadLength == 32)
        try device.write(0x19, 0x09)
        #expect(fake.lastTransfer.smbusSize == 2)
        #expect(fake.lastTransfer.messages == [.init(address: 0x68, reads: false, length: 2, written: [0x19, 0x09])])
        let content = try device.registers(0x19, length)
        // libi2c uses the older of the two calls for 32 bytes.
        #expect(fake.lastTransfer.smbusSize == (length == 32 ? 6 : 8))
        #expect(fake.lastTransfer.messages.map(\.length) == [1, UInt16(length)])
        #expect(content.first == 0x09)
        #expect(content.count == length && !content.contains(0xEE))
        let error = thrown { () throws(BusError) in _ = try device.registers(0x00, 33) }
        #expect(error == BusError(.unsupported, code: EINVAL))
    }

    @Test func readsSingleBytesWithoutBlocks() throws {
        let fake = try FakeAdapter { $0.functionality = FakeAdapter.smbusBytes }
        var device = try I2CDevice(path: fake.path, address: 0x68)
        #expect(device.maximumReadLength == 1)
        try device.write(0x1C, 0x10)
        let readBack = try device.read(0x1C)
        #expect(readBack == 0x10)
        #expect(fake.lastTransfer.smbusSize == 2)
        let error = thrown { () throws(BusError) in _ = try device.registers(0x00, 2) }
        #expect(error == BusError(.unsupported, code: EINVAL))
    }

    @Test func leavesTheAdaptersSettingsAloneAndClosesIt() throws {
        let fake = try FakeAdapter()
        do {
            var device = try I2CDevice(path: fake.path, address: 0x68)
            try device.write(0x6B, 0x01)
            let identity = try device.read(0x75)
            #expect(identity == 0x68)
            #expect(fake.openDescriptors == 1)
        }
        #expect(fake.openDescriptors == 0)
        #expect(fake.rudeRequests == 0)
    }
}

/// Requirement: a failed transaction reports the kind of failure and the errno.
@Suite struct BusErrorTests {
    static let meanings: [(Int32, BusError.Kind)] = [
        (ENXIO, .notAcknowledged), (EREMOTEIO, .notAcknowledged), (EAGAIN, .arbitrationLost), (ETIMEDOUT, .timedOut),
        (EIO, .inputOutput), (EPROTO, .inputOutput), (EBUSY, .busy), (EACCES, .accessDenied), (EPERM, .accessDenied),
        (ENOENT, .absent), (ENODEV, .absent), (EOPNOTSUPP, .unsupported), (EINVAL, .unsupported),
        (ENOTTY, .unsupported), (ENOMEM, .other),
    ]

    @Test(arguments: meanings)
    func classifiesEveryErrno(code: Int32, kind: BusError.Kind) throws {
        for functionality in [fake_i2c_default_settings().functionality, FakeAdapter.smbusBlocks] {
            let fake = try FakeAdapter { $0.functionality = functionality }
            var device = try I2CDevice(path: fake.path, address: 0x68)
            fake.fail(with: code, times: 2)
            let ofRead = thrown { () throws(BusError) in _ = try device.registers(0x3B, 14) }
            #expect(ofRead == BusError(kind, code: code))
            let ofWrite = thrown { () throws(BusError) in try device.write(0x19, 0x01) }
            #expect(ofWrite == BusError(kind, code: code))
            // The failure has no lasting effect: the next transaction works, and the failed write did not happen.
            let divider = try device.read(0x19)
            #expect(divider == 0)
        }
    }

    @Test func reportsADisconnectedChipAsNotAcknowledged() throws {
        let fake = try FakeAdapter { $0.absent_error = ENXIO }
        var device = try I2CDevice(path: fake.path, address: 0x68)
        let before = try device.read(0x75)
        #expect(before == 0x68)
        fake.setAbsent(true)
        let error = thrown { () throws(BusError) in _ = try device.read(0x75) }
        #expect(error == BusError(.notAcknowledged, code: ENXIO))
        fake.setAbsent(false)
        let after = try device.read(0x75)
        #expect(after == 0x68)
    }

    @Test func locksTheChipAgainAfterItsAdapterCameBack() throws {
        let fake = try FakeAdapter()
        var device = try I2CDevice(path: fake.path, address: 0x68)
        fake.setPulledOut(true)
        let gone = thrown { () throws(BusError) in try device.reopen() }
        #expect(gone == BusError(.absent, code: ENODEV))
        fake.setPulledOut(false)
        try device.reopen()
        var other = try I2CAdapter(path: fake.path)
        let error = thrown { () throws(LinuxSensorsError) in try other.lock(device.address) }
        guard case .inUse(let holder) = error?.reason else {
            Issue.record("not locked")
            return
        }
        #expect(holder.processIdentifier == getpid())
        let identity = try device.read(0x75)
        #expect(identity == 0x68)
    }

    @Test func leavesTheChipToAProgramThatLockedItMeanwhile() throws {
        let fake = try FakeAdapter()
        var device = try I2CDevice(path: fake.path, address: 0x68)
        fake.setPulledOut(true)
        let gone = thrown { () throws(BusError) in try device.reopen() }
        #expect(gone?.kind == .absent)
        fake.setPulledOut(false)
        var other = try I2CAdapter(path: fake.path)
        try other.lock(0x68)
        let error = thrown { () throws(BusError) in try device.reopen() }
        #expect(error == BusError(.busy, code: EBUSY))
        let refused = thrown { () throws(BusError) in _ = try device.read(0x75) }
        #expect(refused?.kind == .absent)
        #expect(fake.transactions == 0 && fake.openDescriptors == 1)
        _ = consume other
        try device.reopen()
        let identity = try device.read(0x75)
        #expect(identity == 0x68)
    }

    @Test func transactionsTakeTheTimeOfTheBus() throws {
        let fake = try FakeAdapter { $0.clock_hz = 20_000 }
        var device = try I2CDevice(path: fake.path, address: 0x68)
        let start = SystemClock().now()
        _ = try device.registers(0x3B, 14)
        // Start, address and register; start, address and 14 bytes; stop: 2 + 9 * 2 + 9 * 15 + 1 clocks.
        #expect(SystemClock().now().seconds(since: start) >= 156.0 / 20_000)
    }

    @Test func repeatsAnInterruptedTransaction() throws {
        let fake = try FakeAdapter()
        var device = try I2CDevice(path: fake.path, address: 0x68)
        fake.fail(with: EINTR, times: 2)
        let identity = try device.read(0x75)
        #expect(identity == 0x68)
        #expect(fake.transactions == 3)
    }

    @Test func givesUpAfterEndlessInterruptions() throws {
        let fake = try FakeAdapter()
        var device = try I2CDevice(path: fake.path, address: 0x68)
        fake.fail(with: EINTR, times: .max)
        let error = thrown { () throws(BusError) in try device.write(0x19, 0x01) }
        #expect(error == BusError(.other, code: EINTR))
        #expect(fake.transactions == 9)
    }
}
