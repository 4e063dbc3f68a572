internal import CLinuxSystem
internal import Glibc

/// Notices when this host's network comes back: a link, an address or a route (rtnetlink(7)).
///
/// The kernel reports changes from the monitor's creation on.
package final class NetworkMonitor: Sendable {
    /// Readable when the kernel has reported a change.
    package let descriptor: Int32

    /// Opens a netlink socket; `nil`, with errno set, if this is not permitted or the system has no descriptors left.
    package init?() {
        // The names of the socket types are an enumeration there.
        let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_NETLINK, kind, NETLINK_ROUTE)
        if descriptor < 0 { return nil }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = UInt32(
            RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE)
        let size = socklen_t(MemoryLayout<sockaddr_nl>.size)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        if code != 0 { return nil }
    }

    deinit {
        // After a failed `init?` too, of which the descriptor may be negative.
        if descriptor >= 0 { close(descriptor) }
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
