internal import Glibc

/// Runs a body in which writing to a closed socket is an error, and not the signal SIGPIPE, which ends a process.
///
/// libmosquitto and OpenSSL write without MSG_NOSIGNAL, on whatever thread drives a client.
func withoutBrokenPipeSignal<Result>(_ body: () -> Result) -> Result {
    var signals = sigset_t()
    var previous = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, &previous)
    defer {
        if sigismember(&previous, SIGPIPE) == 0 {
            // One that came waits, and would be delivered.
            var now = timespec()
            _ = sigtimedwait(&signals, nil, &now)
            pthread_sigmask(SIG_SETMASK, &previous, nil)
        }
    }
    return body()
}
