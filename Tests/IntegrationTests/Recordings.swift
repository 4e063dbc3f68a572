import Foundation

/// Synthetic recordings.
enum Recording {
    static let header = "t_s,ax,ay,az,gx,gy,gz"

    /// A board that lies still for ten seconds, and is then turned in all directions for a minute: what the calibration of a
    /// magnetometer needs.
    static var turned: String {
        var (w, x, y, z) = (1.0, 0.0, 0.0, 0.0)
        let step = 0.02
        var text = header + "\n"
        for index in 0..<3500 {
            let time = step * Double(index) - 10
            let speed = 1.5 * min(1, max(0, time))
            let (a, b, c) = (speed * sin(0.62 * time), speed * cos(0.46 * time), speed * sin(0.34 * time + 1))
            let up = (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y))
            let force = String(format: "%.5f,%.5f,%.5f", 9.80665 * up.0, 9.80665 * up.1, 9.80665 * up.2)
            text += String(format: "%.2f", step * Double(index)) + "," + force
            text += String(format: ",%.5f,%.5f,%.5f\n", a, b, c)
            let half = 0.5 * step
            (w, x, y, z) = (
                w - half * (a * x + b * y + c * z), x + half * (a * w + c * y - b * z),
                y + half * (b * w + a * z - c * x), z + half * (c * w + b * x - a * y)
            )
            let length = (w * w + x * x + y * y + z * z).squareRoot()
            (w, x, y, z) = (w / length, x / length, y / length, z / length)
        }
        return text
    }

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
