import BrokerTestSupport
import Glibc
import Synchronization
import Testing

@testable import LinuxSystem

/// Requirement: a network that comes back is noticed at once, and one that goes away is not mistaken for it.
@Suite struct NetworkMonitorTests {
    @Test(.enabled(if: PrivateNetwork.isAvailable, "needs the permissions of root"))
    func noticesInterfaceThatComesBack() {
        let seen = Mutex<[Bool]>([])
        PrivateNetwork.run {
            guard let monitor = try? NetworkMonitor.open() else { return }
            seen.withLock { $0.append(monitor.networkReturned()) }
            for isUp in [true, false, true] {
                guard PrivateNetwork.setLoopback(isUp: isUp) else { return }
                // The kernel has reported the change when the call returns.
                seen.withLock { $0.append(monitor.networkReturned()) }
            }
        }
        #expect(seen.withLock { $0 } == [false, true, false, true])
    }

    /// A netlink message: its header (length, type, flags, sequence, sender) and a body.
    private func message(_ type: UInt16, _ body: [UInt8] = [], length: UInt32? = nil) -> [UInt8] {
        let size = length ?? UInt32(16 + body.count)
        let header = [size, UInt32(type), 0, 0].flatMap { value in
            (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        return header + body
    }

    /// A link (`struct ifinfomsg`) with these flags.
    private func link(_ flags: UInt8) -> [UInt8] { [0, 0, 1, 0, 2, 0, 0, 0, flags, 0, 0, 0, 0, 0, 0, 0] }

    private func showsReturn(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { NetworkMonitor.showsReturn($0) } }

    @Test func readsReports() {
        // RTM_NEWLINK 16, RTM_DELLINK 17, RTM_NEWADDR 20, RTM_DELADDR 21, RTM_NEWROUTE 24, RTM_DELROUTE 25; IFF_UP 1,
        // IFF_RUNNING 0x40.
        #expect(showsReturn(message(20)) && showsReturn(message(24)))
        #expect(showsReturn(message(16, link(0x41))))
        #expect(!showsReturn(message(16, link(0x01))), "up, but the cable is unplugged")
        for type: UInt16 in [17, 21, 25] { #expect(!showsReturn(message(type, link(0x41)))) }
        // The second of two, after one that is padded to four bytes.
        #expect(showsReturn(message(21, [1, 2, 3]) + [0] + message(20)))
    }

    @Test func ignoresDamagedReports() {
        #expect(!showsReturn([]))
        #expect(!showsReturn(Array(message(20).dropLast())))
        #expect(!showsReturn(message(20, length: 17)) && !showsReturn(message(20, length: 0)))
        #expect(!showsReturn(message(16, [0, 0])))
        #expect(!showsReturn(message(17, length: 0) + message(20)))
    }
}
