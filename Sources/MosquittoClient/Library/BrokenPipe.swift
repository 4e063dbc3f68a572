internal import Glibc

/// Runs a body in which a write to a closed socket returns an error instead of raising SIGPIPE, which would terminate
/// the process.
///
/// libmosquitto and OpenSSL write without MSG_NOSIGNAL, on whatever thread drives a client.
func ignoringBrokenPipe<Result>(_ body: () -> Result) -> Result {
    var signals = sigset_t()
    var previous = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, &previous)
    defer {
        if sigismember(&previous, SIGPIPE) == 0 {
            // A pending SIGPIPE would be delivered when the mask is restored, so it is consumed here.
            var now = timespec()
            _ = sigtimedwait(&signals, nil, &now)
            pthread_sigmask(SIG_SETMASK, &previous, nil)
        }
    }
    return body()
}
