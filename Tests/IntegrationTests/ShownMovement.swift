import Foundation

/// A board that is turned to and fro about x between two rests, as an example of a gesture; `wide` scales the angle, `slow` the
/// time, and `first` is the axis of the first half.
struct ShownMovement {
    var wide = 1.0
    var slow = 1.0
    var first = 0

    private func row(at time: Double) -> String {
        let half = 0.5 * slow
        let phase = min(max(time, 0), 2 * half)
        // The angle and its rate: there and back.
        let part = phase < half ? phase / half : (2 * half - phase) / half
        let angle = wide * 1.2 * 0.5 * (1 - cos(.pi * part))
        let isMoving = time > 0 && time < 2 * half
        let speed = isMoving ? wide * 1.2 * 0.5 * .pi / half * sin(.pi * part) * (phase < half ? 1 : -1) : 0
        let rate = first == 0 ? [speed, 0, 0] : [0, 0, speed]
        let (y, z) = first == 0 ? (9.80665 * sin(angle), 9.80665 * cos(angle)) : (0, 9.80665)
        return String(format: "0,%.5f,%.5f,%.5f,0,%.5f", y, z, rate[0], rate[2])
    }

    private func rows(rate: Double) -> [String] {
        (0..<Int(rate * (3 + slow))).map { row(at: Double($0) / rate - 1.5) }
    }

    private static func text(_ rows: [String], rate: Double) -> String {
        Recording.header + "\n"
            + rows.enumerated().map { String(format: "%.3f", Double($0) / rate) + ",\($1)\n" }.joined()
    }

    /// A recording at 100 Hz.
    var recording: String { ShownMovement.text(rows(rate: 100), rate: 100) }

    /// A recording for the virtual sensor, which plays it again and again: movements between rests. The low rate, 50 Hz, leaves it
    /// time on a machine that is busy with other tests.
    static func trajectory(_ wides: [Double]) -> String {
        text(wides.flatMap { ShownMovement(wide: $0).rows(rate: 50) }, rate: 50)
    }
}
