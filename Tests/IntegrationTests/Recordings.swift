import Foundation

/// Synthetic recordings.
enum Recording {
    static let header = "t_s,ax,ay,az,gx,gy,gz"

    /// Rest, a shake along x with 2 g at 5 Hz starting at 1 s, and rest to the end.
    static func shake(
        until end: Double = 1.8, duration: Double = 2.6, rate: Double = 100, hasGyroscope: Bool = true
    ) -> String {
        var text = header + "\n"
        for index in 0..<Int(duration * rate) {
            let time = Double(index) / rate
            let x = (1..<end).contains(time) ? 2 * 9.80665 * sin(2 * .pi * 5 * (time - 1)) : 0
            text += String(format: "%.3f,%.5f,0,9.80665,", time, x) + (hasGyroscope ? "0,0,0\n" : ",,\n")
        }
        return text
    }

    /// At rest, rolled by 30°.
    static var tilted: String {
        header + "\n" + (0..<100).map { "\(Double($0) / 50),0,4.903325,8.492808,0,0,0\n" }.joined()
    }

    /// Lying flat: 4 s of rest, then a quarter turn about z within 1 s.
    static var spun: String {
        header + "\n"
            + (0..<250).map { "\(Double($0) / 50),0,0,9.80665,0,0,\($0 < 200 ? 0 : Double.pi / 2)\n" }.joined()
    }

    /// A turn about x at 90 °/s for 1 s; the board lies flat at first.
    static func turn(rate: Double = 100) -> String {
        var text = header + "\n"
        for index in 0..<Int(3 * rate) {
            let time = Double(index) / rate
            let angle = min(max(time - 1, 0), 1) * .pi / 2
            let speed = (1..<2).contains(time) ? Double.pi / 2 : 0
            text += String(
                format: "%.3f,0,%.5f,%.5f,%.6f,0,0\n", time, 9.80665 * sin(angle), 9.80665 * cos(angle), speed)
        }
        return text
    }
}
