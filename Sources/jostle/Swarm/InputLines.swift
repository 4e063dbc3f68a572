internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// Reads standard input line by line on a thread of its own: poll(2), read(2).
final class InputLines: Sendable {
    /// A longer line is cut off here, which makes it a wrong one.
    private static let longestLine = 4096
    /// While so many lines wait, nothing is read, so that a writer that is faster than the swarm has to wait.
    private static let mostWaiting = 1000
    /// Seconds between looks at whether a program in the background may read the terminal.
    private static let backgroundPause = 0.5

    /// Signalled when there are lines.
    let wake: WakeSignal
    private let end: WakeSignal
    /// Signalled when lines were taken.
    private let room: WakeSignal
    private let lines = Mutex<[String]>([])

    /// Creates a reader; `nil` if the system has no descriptors left.
    init?() {
        guard let wake = WakeSignal(), let end = WakeSignal(), let room = WakeSignal() else { return nil }
        self.wake = wake
        self.end = end
        self.room = room
    }

    /// Starts to read.
    ///
    /// - Returns: the thread, for `stop`; `nil` if the system has none left.
    func start() -> WorkerThread? { WorkerThread(name: "jostle-input") { self.run() } }

    /// Ends the thread.
    func stop(_ thread: WorkerThread) {
        end.signal()
        thread.join(within: 0.5)
    }

    /// Takes the lines that have arrived.
    func take() -> [String] {
        let taken = lines.withLock { lines in
            let taken = lines
            lines = []
            return taken
        }
        if !taken.isEmpty { room.signal() }
        return taken
    }

    private func run() {
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            // A program in the background that reads the terminal would be stopped (SIGTTIN).
            if isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) != getpgrp() {
                if end.isSignalled(within: InputLines.backgroundPause) { return }
                continue
            }
            // Cleared before the look, so that no later signal is lost.
            room.clear()
            let isFull = lines.withLock { $0.count >= InputLines.mostWaiting }
            var entries = [
                pollfd(fd: isFull ? room.descriptor : STDIN_FILENO, events: Int16(POLLIN), revents: 0),
                pollfd(fd: end.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&entries, 2, -1) > 0 else { continue }
            if entries[1].revents != 0 { return }
            if isFull { continue }
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else {
                if !rest.isEmpty { add([rest]) }
                return
            }
            rest += buffer.prefix(count)
            var whole = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
            rest = Array(whole.removeLast().prefix(InputLines.longestLine))
            add(whole)
        }
    }

    private func add(_ new: [[UInt8]]) {
        guard !new.isEmpty else { return }
        let texts = new.map { String(decoding: $0.prefix(InputLines.longestLine), as: UTF8.self) }
        lines.withLock { $0 += texts }
        wake.signal()
    }
}
