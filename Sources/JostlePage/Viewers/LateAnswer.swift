internal import HTTPServer

/// The body of an answer that is known later: the disk has to give it, or the broker.
final class LateAnswer: HTTPStreamSource {
    private var rest: ArraySlice<UInt8>?
    private weak var stream: HTTPStream?
    private let closed: () -> Void

    init(closed: @escaping () -> Void = {}) { self.closed = closed }

    /// The body; call it once.
    func makeStream() -> HTTPStream {
        let stream = HTTPStream(self)
        self.stream = stream
        return stream
    }

    func send(_ bytes: [UInt8]) {
        rest = bytes[...]
        stream?.wake()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPStream.Piece {
        guard let part = rest?.prefix(buffer.count) else { return .nothing }
        guard !part.isEmpty else { return .end }
        part.withUnsafeBytes { buffer.copyMemory(from: $0) }
        rest?.removeFirst(part.count)
        return .bytes(part.count)
    }

    func streamDidClose() { closed() }
}
