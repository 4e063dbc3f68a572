internal import CLinuxSystem
internal import Glibc

/// Notices when this host's network comes back: a link, an address or a route (rtnetlink(7)).
///
/// The kernel reports changes from the monitor's creation on.
package final class NetworkMonitor: Sendable {
    /// Readable when the kernel has reported a change.
    package let descriptor: Int32

    /// Why there is no monitor.
    package struct Failure: Error {
        package let code: Int32

        /// Whether another attempt would fail too: this process may not open a netlink socket.
        package var isPermanent: Bool { [EPERM, EACCES, EAFNOSUPPORT, EPROTONOSUPPORT].contains(code) }
    }

    private init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Opens a netlink socket.
    ///
    /// - Throws: the failure; it is not permanent if the system has no descriptors or no memory left.
    package static func open() throws(Failure) -> NetworkMonitor {
        // The names of the socket types are an enumeration there.
        let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_NETLINK, kind, NETLINK_ROUTE)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        let monitor = NetworkMonitor(descriptor: descriptor)
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = UInt32(
            RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE)
        let size = socklen_t(MemoryLayout<sockaddr_nl>.size)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        guard code == 0 else { throw Failure(code: errno) }
        return monitor
    }

    deinit {
        close(descriptor)
    }

    /// Reads what the kernel has reported, without waiting. Returns whether a link, an address or a route came back.
    package func networkReturned() -> Bool {
        var hasReturned = false
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 8) { buffer in
            // Bounded: a router has routes that change all the time.
            for _ in 0..<64 {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count < 0 {
                    // The kernel dropped reports because there were too many: one of them may have counted.
                    if errno == ENOBUFS { hasReturned = true }
                    return
                }
                if Self.showsReturn(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { hasReturned = true }
            }
        }
        return hasReturned
    }

    /// Whether a netlink datagram has a link that is ready, or a new address or route.
    static func showsReturn(_ datagram: UnsafeRawBufferPointer) -> Bool {
        let headerSize = MemoryLayout<nlmsghdr>.size
        var rest = datagram[...]
        while rest.count >= headerSize {
            let header = UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: nlmsghdr.self)
            let length = Int(header.nlmsg_len)
            guard (headerSize...rest.count).contains(length) else { return false }
            let body = UnsafeRawBufferPointer(rebasing: rest.dropFirst(headerSize).prefix(length - headerSize))
            switch Int(header.nlmsg_type) {
            case RTM_NEWADDR, RTM_NEWROUTE: return true
            case RTM_NEWLINK where body.count >= MemoryLayout<ifinfomsg>.size:
                // Reported for every change of a link, also when it goes down.
                if body.loadUnaligned(as: ifinfomsg.self).ifi_flags & runningFlag != 0 { return true }
            default: break
            }
            // NLMSG_ALIGN
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return false
    }

    /// IFF_RUNNING of linux/if.h, which does not compile together with net/if.h.
    private static let runningFlag: UInt32 = 0x40
}
