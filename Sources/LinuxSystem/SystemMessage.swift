internal import Glibc

/// What the system says of an errno: strerror_r(3).
public func systemMessage(_ code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        guard let start = buffer.baseAddress else { return "error \(code)" }
        buffer.initialize(repeating: 0)
        guard strerror_r(code, start, buffer.count) == 0 else { return "error \(code)" }
        return String(cString: start)
    }
}
