import Foundation
import IMUDrivers
import LinuxSensors
import Testing

/// Requirement: two programs never use one chip, and the second one learns which process has it. No other program can
/// prevent this.
@Suite struct ChipLockTests {
    private let bus: DeviceFilePath
    private let fake: FakeAdapter

    init() throws {
        bus = try DeviceFilePath()
        fake = try FakeAdapter(at: bus.path)
    }

    /// Starts a program on the bus.
    private func helper(_ command: String, _ address: Int = 0x68, launcher: [String] = []) throws -> HelperProcess {
        try HelperProcess([command, bus.path, String(address)], fake: bus.path, launcher: launcher)
    }

    /// Starts a program of another user on the bus.
    private func helper(_ command: String, as user: uid_t, in group: gid_t) throws -> HelperProcess {
        let arguments = ["as", String(user), String(group), command, bus.path, "104"]
        return try HelperProcess(arguments, fake: bus.path)
    }

    /// Tries to lock a chip. Returns the error.
    private func refusal(at address: UInt8 = 0x68) throws -> LinuxSensorsError? {
        var adapter = try I2CAdapter(path: bus.path)
        return thrown { () throws(LinuxSensorsError) in try adapter.lock(address) }
    }

    /// The holder that the refusal names.
    private func refusingHolder(at address: UInt8 = 0x68) throws -> ChipLock.Holder? {
        guard case .inUse(let holder) = try refusal(at: address)?.reason else { return nil }
        return holder
    }

    // MARK: The lock

    @Test func refusesASecondLockInTheSameProcess() throws {
        do {
            var first = try I2CAdapter(path: bus.path)
            try first.lock(0x68)
            let error = try refusal()
            guard case .inUse(let holder) = error?.reason else {
                Issue.record("acquired twice")
                return
            }
            #expect(holder.processIdentifier == getpid())
            #expect(holder.name?.isEmpty == false)
            #expect(error?.busError == BusError(.busy, code: EBUSY))
            let own = first.holder(at: 0x68)
            #expect(own == nil, "the holder itself may use the chip")
        }
        #expect(try refusal() == nil)
    }

    @Test func refusesAnotherProcess() throws {
        var adapter = try I2CAdapter(path: bus.path)
        try adapter.lock(0x68)
        let helper = try helper("hold")
        #expect(helper.answer().contains("process \(getpid())"))
        #expect(helper.finish() == 1)
        use(adapter)
    }

    @Test func doesNotLockOtherChips() throws {
        var first = try I2CAdapter(path: bus.path)
        try first.lock(0x68)
        let sameBus = try helper("hold", 0x69)
        #expect(sameBus.answer() == "held")
        let otherFake = try FakeAdapter()
        var otherBus = try I2CAdapter(path: otherFake.path)
        try otherBus.lock(0x68)
        use(first)
        use(otherBus)
    }

    @Test func treatsAllPathsToABusAsTheSameBus() throws {
        let link = bus.path + "-link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: bus.path)
        let linked = try FakeAdapter(at: link)
        var adapter = try I2CAdapter(path: linked.path)
        try adapter.lock(0x68)
        #expect(try refusingHolder()?.processIdentifier == getpid())
        use(adapter)
    }

    @Test func releasesTheLockOfAKilledProcess() throws {
        let helper = try helper("hold")
        #expect(helper.answer() == "held")
        #expect(try refusingHolder()?.processIdentifier == helper.processIdentifier)
        helper.kill()
        #expect(try refusal() == nil)
    }

    // MARK: Its holder

    @Test func namesTheProcessThatHoldsTheLock() throws {
        let helper = try helper("hold")
        #expect(helper.answer() == "held")
        let error = try refusal()
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
        #expect(try refusal() == nil)
    }

    @Test func namesAProgramThatHasLockedTheWholeFile() throws {
        let helper = try helper("hold-file")
        #expect(helper.answer() == "held")
        #expect(try refusingHolder(at: 0x69)?.processIdentifier == helper.processIdentifier)
    }

    @Test func neitherObeysNorNamesAProcessThatOnlyAnnouncesItself() throws {
        let squatter = try helper("announce")
        #expect(squatter.answer() == "announced")
        var adapter = try I2CAdapter(path: bus.path)
        let free = adapter.holder(at: 0x68)
        #expect(free == nil)
        try adapter.lock(0x68)
        let second = try helper("hold")
        #expect(second.answer().contains("(process \(getpid())) uses it"))
        #expect(second.finish() == 1)
        use(adapter)
    }

    /// Without permission to see which process has the lock, an announcement is believed only of a process that may open
    /// the device file, here by a group as that of the service.
    @Test(.enabled(if: geteuid() == 0, "only root can start processes of other users"), arguments: [true, false])
    func believesAnAnnouncementOnlyIfItCanBeTrue(isTrue: Bool) throws {
        let group: gid_t = 60_000
        #expect(chown(bus.path, 0, group) == 0 && chmod(bus.path, 0o660) == 0)
        let stranger = try isTrue ? nil : helper("announce", as: group + 1, in: group + 1)
        if let stranger { #expect(stranger.answer() == "announced") }
        let holding = try helper("hold", as: group + 2, in: group)
        #expect(holding.answer() == "held")
        let asking = try helper("hold", as: group + 3, in: group)
        let answer = asking.answer()
        let holder = isTrue ? "LinuxSensorsTes (process \(holding.processIdentifier))" : "another process"
        #expect(answer.hasSuffix(": \(holder) uses it"), "\(answer)")
        #expect(asking.finish() == 1)
        #expect(holding.finish() == 0)
    }

    private static let otherNetwork = ["unshare", "--net"]
    private static let canLeaveNetwork = (try? run("/usr/bin/env", otherNetwork + ["true"])) == 0

    @Test(.enabled(if: canLeaveNetwork, "this user cannot create network namespaces"))
    func isValidInAllNetworkNamespaces() throws {
        let helper = try helper("hold", launcher: Self.otherNetwork)
        #expect(helper.answer() == "held")
        // Its announcement is not visible here, but /proc lists its locks.
        let holder = try #require(try refusingHolder())
        #expect(holder.processIdentifier == helper.processIdentifier)
        #expect(holder.name == "LinuxSensorsTes")
        #expect(helper.finish() == 0)
        #expect(try refusal() == nil)
    }

    /// The kernel may release the lock of a program that ends before its announcement.
    @Test func waitsForTheNameOfTheLastHolder() throws {
        let file = try #require(DeviceFile(path: bus.path))
        var last = HolderAnnouncement.make(file: file, address: 0x68)
        let isAnnounced = last != nil
        #expect(isAnnounced)
        var pauses = 0
        let next = HolderAnnouncement.make(file: file, address: 0x68) {
            pauses += 1
            if pauses == 3 { last = nil }
        }
        let isNextAnnounced = next != nil
        #expect(isNextAnnounced && pauses == 3)
        // A name that stays in use costs little time.
        pauses = 0
        let third = HolderAnnouncement.make(file: file, address: 0x68) { pauses += 1 }
        let isThirdAnnounced = third != nil
        #expect(!isThirdAnnounced && pauses == 50)
        use(next)
    }

    /// The next program takes the lock the moment it is released: the last holder is still in close(2).
    @Test func withdrawsItsAnnouncementBeforeItReleasesTheLock() throws {
        let bus = try DeviceFilePath()
        let fake = try FakeAdapter(at: bus.path) { $0.close_ms = 1000 }
        let file = try #require(DeviceFile(path: bus.path))
        let locked = DispatchSemaphore(value: 0)
        let isNextReady = DispatchSemaphore(value: 0)
        let closed = DispatchSemaphore(value: 0)
        let path = bus.path
        Thread.detachNewThread {
            do {
                var last = try I2CAdapter(path: path)
                try last.lock(0x68)
                locked.signal()
                isNextReady.wait()
                Self.use(last)
            } catch {
                Issue.record("\(error)")
                locked.signal()
            }
            closed.signal()
        }
        locked.wait()
        var next = try I2CAdapter(path: path)
        isNextReady.signal()
        let deadline = Date(timeIntervalSinceNow: 30)
        while thrown({ () throws(LinuxSensorsError) in try next.lock(0x68) }) != nil {
            try #require(Date() < deadline)
        }
        closed.wait()
        let isAnnounced = HolderAnnouncement.make(file: file, address: 0x68) == nil
        #expect(isAnnounced, "the name was still in use")
        use(next)
        withExtendedLifetime(fake) {}
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Keeps a lock alive up to this call.
    private func use(_ adapter: borrowing I2CAdapter) {}
    private static func use(_ adapter: borrowing I2CAdapter) {}
    private func use(_ announcement: borrowing HolderAnnouncement?) {}
}

/// A file for a fake adapter in a directory of its own, so that several processes can lock it.
private final class DeviceFilePath {
    let path: String
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("jostle-lock-\(UUID().uuidString)")
        path = directory.appendingPathComponent("i2c-1").path
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: path))
    }

    deinit { try? FileManager.default.removeItem(at: directory) }
}
