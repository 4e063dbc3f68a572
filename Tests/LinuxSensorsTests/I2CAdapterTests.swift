import FakeI2CAdapter
import Glibc
import IMUDrivers
import LinuxSensors
import Testing

/// Requirement: if a chip cannot be opened, the cause is named, with advice.
@Suite struct OpeningTests {
    @Test(arguments: [
        (ENOENT, BusError.Kind.absent, "do_i2c"), (ENODEV, .absent, "do_i2c"), (ENXIO, .absent, "modprobe i2c-dev"),
        (EACCES, .accessDenied, "usermod -aG i2c"), (EPERM, .accessDenied, "usermod -aG i2c"),
    ])
    func advisesOnADeviceFileThatCannotBeOpened(code: Int32, kind: BusError.Kind, advice: String) throws {
        let fake = try FakeAdapter { $0.open_error = code }
        let error = thrown { () throws(LinuxSensorsError) in _ = try I2CDevice(path: fake.path, address: 0x68) }
        #expect(error?.reason == .cannotOpen)
        #expect(error?.busError == BusError(kind, code: code))
        #expect(error?.description.contains(fake.path) == true)
        #expect(error?.advice?.contains(advice) == true)
    }

    @Test func reportsAMissingFileAsAbsent() {
        let path = "/dev/i2c-there-is-none"
        let error = thrown { () throws(LinuxSensorsError) in _ = try I2CAdapter(path: path) }
        #expect(error?.reason == .cannotOpen)
        #expect(error?.busError == BusError(.absent, code: ENOENT))
    }

    @Test func rejectsAFileThatIsNotAnAdapter() {
        let error = thrown { () throws(LinuxSensorsError) in _ = try I2CAdapter(path: "/dev/null") }
        #expect(error?.reason == .notAnAdapter)
        #expect(error?.busError == BusError(.unsupported, code: ENOTTY))
    }

    @Test func closesAnAdapterThatDoesNotReportItsFunctionality() throws {
        let fake = try FakeAdapter { $0.functionality_error = ENODEV }
        let error = thrown { () throws(LinuxSensorsError) in _ = try I2CAdapter(path: fake.path) }
        #expect(error?.reason == .notAnAdapter)
        #expect(error?.busError == BusError(.absent, code: ENODEV))
        #expect(fake.openDescriptors == 0)
    }

    @Test func leavesAChipToItsKernelDriver() throws {
        let fake = try FakeAdapter { $0.kernel_driver = true }
        let error = thrown { () throws(LinuxSensorsError) in _ = try I2CDevice(path: fake.path, address: 0x68) }
        #expect(error?.reason == .kernelDriver(name: nil))
        #expect(error?.busError == BusError(.busy, code: EBUSY))
        #expect(error?.advice(in: .agent)?.contains("driver: iio") == true)
        #expect(fake.transactions == 0)
        #expect(fake.openDescriptors == 0, "the lock was kept")
    }

    @Test(arguments: [0x00, 0x07, 0x78, 0xFF] as [UInt8])
    func acceptsOnlyValidChipAddresses(address: UInt8) throws {
        let fake = try FakeAdapter()
        let error = thrown { () throws(LinuxSensorsError) in _ = try I2CDevice(path: fake.path, address: address) }
        #expect(error?.reason == .invalidAddress)
        #expect(fake.transactions == 0)
    }

    @Test func rejectsAnAdapterThatCannotReadRegisters() throws {
        let fake = try FakeAdapter { $0.functionality = I2CFunctionality.smbusQuick.rawValue }
        let error = thrown { () throws(LinuxSensorsError) in _ = try I2CDevice(path: fake.path, address: 0x68) }
        #expect(error?.reason == .insufficientAdapter(.smbusQuick))
        #expect(error?.busError.kind == .unsupported)
        #expect(fake.openDescriptors == 0)
    }

    @Test func reportsTheKernelsFunctionality() throws {
        let fake = try FakeAdapter()
        let functionality = try I2CAdapter(path: fake.path).functionality
        #expect(functionality.isSuperset(of: [.transfers, .smbusQuick, .smbusReadBlock, .smbusWriteBlock]))
        #expect(functionality.rawValue == fake_i2c_default_settings().functionality)
    }
}

/// Requirement: a scan finds chips without writing to them or disturbing one in use.
@Suite struct ProbeTests {
    @Test func probesWithOneTransfer() throws {
        let fake = try FakeAdapter()
        let adapter = try I2CAdapter(path: fake.path)
        let found = try adapter.readRegister(0x75, at: 0x68)
        #expect(found == 0x68)
        #expect(fake.lastTransfer.messages.map(\.address) == [0x68, 0x68])
        #expect(fake.lastTransfer.messages.last == .init(address: 0x68, reads: true, length: 1))
        let silent = thrown { () throws(BusError) in _ = try adapter.readRegister(0x75, at: 0x1D) }
        #expect(silent?.kind == .notAcknowledged)
    }

    @Test func probesThroughSMBus() throws {
        let fake = try FakeAdapter { $0.functionality = FakeAdapter.smbusBytes }
        let adapter = try I2CAdapter(path: fake.path)
        let silent = thrown { () throws(BusError) in _ = try adapter.readRegister(0x75, at: 0x69) }
        #expect(silent?.kind == .notAcknowledged)
        let identity = try adapter.readRegister(0x75, at: 0x68)
        #expect(identity == 0x68)
    }

    @Test func readsARegisterWithoutWritingOne() throws {
        let fake = try FakeAdapter { $0.identity = 0x71 }
        let adapter = try I2CAdapter(path: fake.path)
        let identity = try adapter.readRegister(0x75, at: 0x68)
        #expect(identity == 0x71)
        let written = fake.lastTransfer.messages.filter { !$0.reads }.map(\.written)
        #expect(written == [[0x75]])
        let error = thrown { () throws(BusError) in _ = try adapter.readRegister(0x75, at: 0x69) }
        #expect(error == BusError(.notAcknowledged, code: EREMOTEIO))
    }

    @Test func distinguishesAStuckBusFromAnEmptyOne() throws {
        let fake = try FakeAdapter()
        fake.fail(with: ETIMEDOUT, afterMilliseconds: 5)
        let adapter = try I2CAdapter(path: fake.path)
        let error = thrown { () throws(BusError) in _ = try adapter.readRegister(0x75, at: 0x68) }
        #expect(error == BusError(.timedOut, code: ETIMEDOUT))
    }

    @Test func doesNotAccessChipsInUse() throws {
        let fake = try FakeAdapter()
        let device = try I2CDevice(path: fake.path, address: 0x68)
        let refusal = thrown { () throws(LinuxSensorsError) in _ = try I2CDevice(path: fake.path, address: 0x68) }
        guard case .inUse(let holder) = refusal?.reason else {
            Issue.record("not reported as in use")
            return
        }
        #expect(holder.processIdentifier == getpid())
        #expect(fake.transactions == 0)
        // Otherwise the device would end before the refusal.
        let address = device.address
        #expect(address == 0x68)

        let bound = try FakeAdapter { $0.kernel_driver = true }
        let owned = thrown { () throws(LinuxSensorsError) in _ = try I2CDevice(path: bound.path, address: 0x68) }
        #expect(owned?.reason == .kernelDriver(name: nil))
        let itsAdapter = try I2CAdapter(path: bound.path)
        let error = thrown { () throws(BusError) in _ = try itsAdapter.readRegister(0x75, at: 0x68) }
        #expect(error == BusError(.busy, code: EBUSY))
        #expect(bound.transactions == 0)
    }
}
