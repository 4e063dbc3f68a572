package import LinuxSystem
package import MotionCore

/// Frames of everyday movement, which no learned gesture may be like.
package struct EverydayMovement: Sendable {
    /// Movement of one activity without a pause.
    package struct Stretch: Sendable {
        package var activity: String
        package var frames: [MotionFrame]
    }

    package private(set) var stretches: [Stretch] = []

    package init() {}

    /// Adds what moves in the frames of a recording.
    package mutating func add(_ frames: [SampledFrame], activity: String) {
        for part in MotionFrame.stretches(frames.map(\.frame)) {
            stretches.append(Stretch(activity: activity, frames: part))
        }
    }

    // MARK: File

    private static let title = Array("jostle everyday movement 1\n".utf8)
    /// The most bytes of a file.
    private static let limit = 16 << 20

    /// The file's bytes: for each stretch the activity, ended by a line feed, the number of frames in four bytes, the least
    /// significant first, and six bytes a frame.
    package var bytes: [UInt8] {
        var bytes = EverydayMovement.title
        for stretch in stretches {
            bytes += Array(stretch.activity.utf8) + [10]
            for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: stretch.frames.count >> shift)) }
            for frame in stretch.frames { bytes += frame.packed.map { UInt8(bitPattern: $0) } }
        }
        return bytes
    }

    /// Reads a file; `nil` if it is none of everyday movement.
    package init?(path: String) throws(SystemFailure) {
        let bytes = try FileContents.bytes(of: path, limit: EverydayMovement.limit)
        guard bytes.starts(with: EverydayMovement.title) else { return nil }
        var place = EverydayMovement.title.count
        while place < bytes.count {
            guard let end = bytes[place...].firstIndex(of: 10), end + 4 < bytes.count else { return nil }
            let activity = String(decoding: bytes[place..<end], as: UTF8.self)
            let count = (1...4).reversed().reduce(0) { $0 << 8 | Int(bytes[end + $1]) }
            let first = end + 5
            guard count <= (bytes.count - first) / 6 else { return nil }
            let frames = (0..<count).map { index in
                MotionFrame(packed: bytes[first + 6 * index..<first + 6 * index + 6].map { Int8(bitPattern: $0) })
            }
            stretches.append(Stretch(activity: activity, frames: frames))
            place = first + 6 * count
        }
    }
}
