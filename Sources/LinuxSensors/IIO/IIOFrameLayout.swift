/// The layout of a frame.
///
/// The kernel stores the enabled elements in the order of their indices, each aligned to its own length, and pads the
/// frame to a multiple of the longest (industrialio-buffer.c, `iio_compute_scan_bytes`).
struct IIOFrameLayout: Equatable, Sendable {
    /// A channel that can be captured.
    struct Element: Equatable, Sendable {
        /// Its name: `in_accel_x`.
        var name: String
        var index: Int
        var type: IIOScanType
    }

    /// Byte offsets within the frame, by element name.
    private(set) var offsets: [String: Int] = [:]

    /// The storage formats, by element name.
    private(set) var types: [String: IIOScanType] = [:]

    /// Bytes per frame.
    private(set) var frameLength = 0

    init(_ elements: [Element]) {
        var longest = 1
        for element in elements.sorted(by: { $0.index < $1.index }) {
            let length = element.type.length
            frameLength = IIOFrameLayout.aligned(frameLength, to: length)
            offsets[element.name] = frameLength
            types[element.name] = element.type
            frameLength += length
            longest = max(longest, length)
        }
        frameLength = IIOFrameLayout.aligned(frameLength, to: longest)
    }

    private static func aligned(_ offset: Int, to length: Int) -> Int {
        (offset + length - 1) / length * length
    }
}
