internal import Glibc

/// Writes numbers with nine significant digits: printf's `%.9g`.
struct SignificantDigits: ~Copyable {
    private let buffer: UnsafeMutablePointer<CChar>
    private static let capacity = 32

    init() {
        buffer = .allocate(capacity: SignificantDigits.capacity)
    }

    deinit {
        buffer.deallocate()
    }

    /// Appends `value` to `text`.
    func append(_ value: Double, to text: inout String) {
        let length = withVaList([value]) { vsnprintf(buffer, SignificantDigits.capacity, "%.9g", $0) }
        let digits = UnsafeRawBufferPointer(start: buffer, count: max(0, Int(length)))
        text += String(decoding: digits, as: UTF8.self)
    }
}
