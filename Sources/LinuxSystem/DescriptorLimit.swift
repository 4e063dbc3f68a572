internal import Glibc

/// The number of file descriptors that this process may have open: getrlimit(2).
package enum DescriptorLimit {
    /// The limit; `nil` if there is none (`RLIM_INFINITY`, which does not import).
    package static var current: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max
        else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    /// Raises the limit as far as the process may: setrlimit(2).
    ///
    /// - Returns: the limit.
    package static func raise() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return Int(sysconf(Int32(_SC_OPEN_MAX))) }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
