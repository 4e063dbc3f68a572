import BrokerTestSupport
import Foundation
import MotionKit
import Testing

/// Requirement: only evenly spaced recordings of a resting sensor are accepted; the error says what is wrong, and when.
@Suite struct RestingRecordingTests {
    /// A row's fields apart from its time, which a test may change.
    private typealias Values = (a: [Double], g: [Double])

    /// A minute at 100 Hz, with noise of a few counts and gravity along z.
    private func recording(
        seconds: Double = 60, time: (Int) -> Double = { Double($0) / 100 }, temperature: ((Double) -> Double)? = nil,
        hasGyroscope: Bool = true, change: (Double, inout Values) -> Void = { _, _ in }
    ) throws -> TemporaryFile {
        var text = "t_s,ax,ay,az,gx,gy,gz" + (temperature == nil ? "\n" : ",temp_c\n")
        var random: UInt64 = 7
        func noise() -> Double {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(random >> 11) / 9_007_199_254_740_992 - 0.5
        }
        for index in 0..<Int(seconds * 100) {
            let t = time(index)
            var values: Values = (
                [0.1 + 0.1 * noise(), -0.2 + 0.1 * noise(), 9.8 + 0.1 * noise()],
                [-0.05 + 0.003 * noise(), 0.03 + 0.003 * noise(), 0.02 + 0.003 * noise()]
            )
            change(t, &values)
            let rates = hasGyroscope ? values.g.map { String(format: "%.6f", $0) } : ["", "", ""]
            var fields = [String(format: "%.6f", t)] + values.a.map { String(format: "%.5f", $0) } + rates
            if let temperature { fields.append(String(format: "%.2f", temperature(t))) }
            text += fields.joined(separator: ",") + "\n"
        }
        return try TemporaryFile(text)
    }

    private func error(of file: TemporaryFile) -> RestingRecordingError? {
        do throws(RestingRecordingError) {
            _ = try RestingRecording(path: file.path)
            return nil
        } catch {
            return error
        }
    }

    @Test("A board at rest: columns, period and temperature")
    func rest() throws {
        let file = try recording(temperature: { 20 + $0 / 20 })
        let recording = try RestingRecording(path: file.path)
        #expect(recording.count == 6000 && abs(recording.period - 0.01) < 1e-9 && abs(recording.duration - 60) < 1e-6)
        #expect(abs(recording.acceleration[1][17] + 0.2) < 0.06 && abs(recording.acceleration[2][5999] - 9.8) < 0.06)
        #expect(abs(try #require(recording.rotationRate)[0][3000] + 0.05) < 0.002)
        #expect(recording.missing.gaps == 0 && recording.missing.seconds == 0)
        let temperature = try #require(recording.temperature)
        #expect(abs(temperature.first - 20.025) < 0.01 && abs(temperature.last - 22.975) < 0.01)
        #expect(abs(temperature.lowest - 20) < 0.01 && abs(temperature.highest - 23) < 0.01)
    }

    @Test("At most so many samples")
    func limit() throws {
        let file = try recording()
        #expect(try RestingRecording(path: file.path, mostSamples: 6000).count == 6000)
        #expect {
            _ = try RestingRecording(path: file.path, mostSamples: 5999)
        } throws: { error in
            "\(error)".hasPrefix("\(file.path):6001: more than 5999 samples")
        }
    }

    @Test("An accelerometer alone, and no temperature")
    func accelerometer() throws {
        let file = try recording(hasGyroscope: false)
        let recording = try RestingRecording(path: file.path)
        #expect(recording.rotationRate == nil && recording.temperature == nil && recording.count == 6000)
    }

    @Test("Accepts a slow drift of the bias, as while a chip warms up")
    func warming() throws {
        let file = try recording(change: { (t: Double, values: inout Values) in
            let warmth: Double = 1 - exp(-t / 20)
            values.g[0] += 0.035 * warmth
            values.a[2] += 0.1 * warmth
        })
        #expect(error(of: file) == nil)
    }

    /// The start, end and kind of the movement that is found in a recording.
    private func movement(in file: TemporaryFile) -> (from: Double, until: Double, violation: RestViolation)? {
        guard case .moved(let from, let until, let violation) = error(of: file) else { return nil }
        return (from, until, violation)
    }

    @Test("Reports a knock with its time and axis")
    func knock() throws {
        let file = try recording(change: { (t: Double, values: inout Values) in
            if t >= 20.2 && t < 20.25 { values.a[1] += 1 }
        })
        let found = try #require(movement(in: file))
        #expect(abs(found.from - 20) < 1e-6 && abs(found.until - 20.5) < 1e-6)
        #expect(!found.violation.isGyroscope && found.violation.axis == 1)
        guard case .spread(let spread, let allowed) = found.violation.kind else { throw Unexpected(found) }
        #expect(spread > 0.2 && spread < 0.4 && allowed <= 0.15)
    }

    @Test("Reports the start of a slow turn")
    func turn() throws {
        let file = try recording(change: { (t: Double, values: inout Values) in
            if t >= 30 && t < 40 { values.g[2] += 0.02 }
        })
        let found = try #require(movement(in: file))
        #expect(
            abs(found.from - 30) < 1e-6 && abs(found.until - 40) < 1e-6 && found.violation.isGyroscope
                && found.violation.axis == 2)
        guard case .jump(let jump) = found.violation.kind else { throw Unexpected(found) }
        #expect(abs(jump - 0.02) < 0.001)
    }

    @Test("Reports a board that never rests from start to end")
    func always() throws {
        let file = try recording(change: { (t: Double, values: inout Values) in values.g[0] += 0.1 * sin(20 * t) })
        let found = try #require(movement(in: file))
        #expect(found.from == 0 && found.until > 59 && found.violation.isGyroscope && found.violation.axis == 0)
        let turntable = try recording(change: { (_: Double, values: inout Values) in values.g[2] += 0.6 })
        guard case .turning(let rate) = movement(in: turntable)?.violation.kind else {
            throw Unexpected(error(of: turntable))
        }
        #expect(abs(rate - 0.62) < 0.01)
    }

    @Test("Reports a slow tilt")
    func tilt() throws {
        let file = try recording(change: { (t: Double, values: inout Values) in values.a[0] += 0.02 * t })
        let found = try #require(movement(in: file))
        guard case .shift(let shift) = found.violation.kind else { throw Unexpected(found) }
        // The usual mean is the median, from the middle of the tilt.
        #expect(found.from == 0 && !found.violation.isGyroscope && found.violation.axis == 0)
        #expect(abs(shift - 0.6) < 0.05)
    }

    @Test("The error for a short recording says what is needed")
    func short() throws {
        let file = try recording(seconds: 20)
        guard case .tooShort(let seconds, 2000) = error(of: file) else { throw Unexpected(error(of: file)) }
        #expect(abs(seconds - 19.99) < 1e-6)
        #expect(error(of: file)?.description.contains("at least 1000 samples and 30 s") == true)
        let slow = try recording(seconds: 9, time: { Double($0) / 10 })
        guard case .tooShort(_, 900) = error(of: slow) else { throw Unexpected(error(of: slow)) }
    }

    @Test("Refuses intervals that differ by more than a fifth, but accepts and counts one in a thousand")
    func steps() throws {
        let jitter = try recording(time: { Double($0) / 100 + ($0 % 10 == 5 ? 0.0025 : 0) })
        guard case .irregular(let time, let interval, let period, let count) = error(of: jitter) else {
            throw Unexpected(error(of: jitter))
        }
        #expect(abs(time - 0.0525) < 1e-9 && abs(interval - 0.0125) < 1e-9 && abs(period - 0.01) < 1e-9)
        #expect(count == 1200)
        let small = try recording(time: { Double($0) / 100 + ($0 % 10 == 5 ? 0.0015 : 0) })
        #expect(error(of: small) == nil)
        let gap = try recording(time: { Double($0) / 100 + ($0 >= 3000 ? 0.25 : 0) })
        let missing = try RestingRecording(path: gap.path).missing
        #expect(missing.gaps == 1 && abs(missing.seconds - 0.25) < 1e-6)
        let large = try recording(time: { Double($0) / 100 + ($0 >= 3000 ? 5 : 0) })
        guard case .irregular(_, _, _, 1) = error(of: large) else { throw Unexpected(error(of: large)) }
    }

    @Test("Reports a malformed file")
    func malformed() throws {
        let file = try TemporaryFile("t_s,ax,ay,az,gx,gy,gz\n0,0,0,x,0,0,0\n")
        guard case .unreadable(.malformed(_, line: 2, _)) = error(of: file) else { throw Unexpected(error(of: file)) }
    }
}
