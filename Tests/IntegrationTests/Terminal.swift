import BrokerTestSupport
import Foundation
import Testing

/// A pseudo-terminal for tests.
final class Terminal {
    private let descriptor: Int32
    /// Keeps the terminal's end open, so that no output is lost when a program closes it.
    private let holder: Int32
    private var read: [UInt8] = []

    /// The device path of the terminal's end.
    let path: String

    // posix_openpt and related functions are not imported; these are the ioctls they use (asm-generic/ioctls.h).
    private static let unlock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430
    private static let setSize: UInt = 0x5414

    init() throws {
        descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        var isLocked: Int32 = 0
        var index: Int32 = -1
        try #require(descriptor >= 0 && ioctl(descriptor, Self.unlock, &isLocked) == 0)
        try #require(ioctl(descriptor, Self.number, &index) == 0)
        path = "/dev/pts/\(index)"
        holder = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(holder >= 0)
    }

    deinit {
        close(holder)
        close(descriptor)
    }

    /// The output so far.
    var text: String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Foundation.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: read, as: UTF8.self) }
            read += buffer[..<count]
        }
    }

    /// Whether input is echoed, as in a shell.
    var echoes: Bool {
        var settings = termios()
        return tcgetattr(holder, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Waits for the exit status of a program on the terminal, while its output is read.
    func exitStatus(of child: ChildProcess) async -> Int32? {
        _ = await eventually {
            _ = text
            return child.exitStatus() != nil
        }
        return child.exitStatus()
    }

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Foundation.write(descriptor, bytes, bytes.count)
    }

    /// Changes the window size.
    func resize(columns: UInt16, rows: UInt16) throws {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(descriptor, Self.setSize, &size) == 0)
    }

    /// The visible rows drawn since the screen was last cleared.
    var rows: [String] { styledRows.map { $0.replacing(/\e\[[\d;]*m/, with: "") } }

    /// The same with the escape sequences of their styles.
    var styledRows: [String] {
        let drawn = text.components(separatedBy: "\u{1B}[2J").last ?? ""
        var rows = Array(repeating: "", count: 100)
        for match in drawn.matches(of: /\e\[(\d+);1H\e\[K((?:\e\[[\d;]*m|[^\e])*)/) {
            guard let row = Int(match.1), rows.indices.contains(row - 1) else { continue }
            rows[row - 1] = String(match.2)
        }
        return rows
    }
}
