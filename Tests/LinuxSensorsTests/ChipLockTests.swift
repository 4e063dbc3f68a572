import Foundation
import IMUDrivers
import LinuxSensors
import Testing

/// Requirement: two agents never share a chip, and the second one learns which process has it.
@Suite struct ChipLockTests {
    /// A device name that no other test run uses.
    private let device = "/dev/i2c-lock-\(UUID().uuidString)"

    @Test func refusesASecondLockInTheSameProcess() throws {
        do {
            let first = try ChipLock(device: device, address: 0x68)
            let error = thrown { () throws(LinuxSensorsError) in _ = try ChipLock(device: device, address: 0x68) }
            guard case .inUse(let holder) = error?.reason else {
                Issue.record("acquired twice")
                return
            }
            #expect(holder.processIdentifier == getpid())
            #expect(holder.name?.isEmpty == false)
            #expect(error?.busError == BusError(.busy, code: EBUSY))
            use(first)
        }
        #expect(ChipLock.holder(device: device, address: 0x68) == nil)
        let again = try ChipLock(device: device, address: 0x68)
        use(again)
    }

    @Test func doesNotLockOtherChips() throws {
        let first = try ChipLock(device: device, address: 0x68)
        let sameBus = try ChipLock(device: device, address: 0x69)
        let otherBus = try ChipLock(device: device + "2", address: 0x68)
        use(first)
        use(sameBus)
        use(otherBus)
    }

    @Test func treatsAllPathsToABusAsTheSameBus() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("i2c-1").path
        let link = directory.appendingPathComponent("sensors").path
        try Data().write(to: URL(fileURLWithPath: file))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        let lock = try ChipLock(device: file, address: 0x68)
        #expect(ChipLock.holder(device: link, address: 0x68)?.processIdentifier == getpid())
        use(lock)
    }

    @Test func namesTheProcessThatHoldsTheLock() throws {
        let helper = try HelperProcess(["hold", device, "104"])
        #expect(helper.answer() == "held")
        let error = thrown { () throws(LinuxSensorsError) in _ = try ChipLock(device: device, address: 104) }
        guard case .inUse(let holder) = error?.reason else {
            Issue.record("not refused")
            return
        }
        #expect(holder.processIdentifier == helper.processIdentifier)
        // The kernel keeps 15 characters of a program's name.
        #expect(holder.name == "LinuxSensorsTes")
        #expect(error?.description.contains("process \(helper.processIdentifier)") == true)
        #expect(error?.advice?.contains("kill \(helper.processIdentifier)") == true)
        #expect(helper.finish() == 0)
        let lock = try ChipLock(device: device, address: 104)
        use(lock)
    }

    @Test func releasesTheLockOfAKilledProcess() throws {
        let helper = try HelperProcess(["hold", device, "104"])
        #expect(helper.answer() == "held")
        #expect(ChipLock.holder(device: device, address: 104)?.processIdentifier == helper.processIdentifier)
        helper.kill()
        let lock = try ChipLock(device: device, address: 104)
        use(lock)
    }

    @Test func refusesAnotherProcess() throws {
        let lock = try ChipLock(device: device, address: 104)
        let helper = try HelperProcess(["hold", device, "104"])
        #expect(helper.answer().contains("process \(getpid())"))
        #expect(helper.finish() == 1)
        use(lock)
    }

    /// Keeps a lock alive up to this call.
    private func use(_ lock: borrowing ChipLock) {}
}
