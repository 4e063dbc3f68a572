/// The name of a learned gesture: 1 to 32 bytes of `a-z`, `0-9` and `_`, beginning with a letter. It has a fixed size, so that
/// an event can carry it.
public struct GestureName: Hashable, Comparable, Sendable, BitwiseCopyable {
    private var words = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))

    /// The most bytes.
    public static let capacity = 32

    /// No name yet.
    init() {}

    /// The name of these bytes; `nil` if they are none.
    public init?(utf8: some Sequence<UInt8>) {
        var count = 0
        for byte in utf8 {
            let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            let isOther = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            guard isLetter || isOther && count > 0, count < GestureName.capacity else { return nil }
            withUnsafeMutableBytes(of: &words) { $0[count] = byte }
            count += 1
        }
        guard count > 0 else { return nil }
    }

    /// Calls the closure with the bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer.SubSequence) -> Result) -> Result {
        withUnsafeBytes(of: words) { bytes in body(bytes.prefix { $0 != 0 }) }
    }

    public static func == (one: GestureName, other: GestureName) -> Bool { one.words == other.words }

    /// The order of their bytes.
    public static func < (one: GestureName, other: GestureName) -> Bool {
        withUnsafeBytes(of: one.words) { one in
            withUnsafeBytes(of: other.words) { one.lexicographicallyPrecedes($0) }
        }
    }

    public func hash(into hasher: inout Hasher) {
        withUnsafeBytes(of: words) { hasher.combine(bytes: $0) }
    }
}

#if !hasFeature(Embedded)
    extension GestureName: CustomStringConvertible {
        /// The name of this text; `nil` if it is none.
        public init?(_ text: some StringProtocol) { self.init(utf8: text.utf8) }

        public var description: String { withBytes { String(decoding: $0, as: UTF8.self) } }
    }
#endif
