import BrokerTestSupport
import Foundation
import Testing

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// Requirement: `jostle noise` shows the noise of each axis of a resting recording as a table, a plot, JSON and SVG,
/// and refuses other recordings with status 65 and the reason.
@Suite(.needsProgram) struct NoiseTests {
    private let directory = TemporaryDirectory.new()
    /// °/s/√Hz and µg/√Hz, per axis.
    private static let gyroscope = [0.005, 0.01, 0.02]
    private static let accelerometer = [200.0, 400, 800]

    /// White noise at 100 Hz, the same in every run; optionally with a movement at a time.
    func recording(seconds: Int = 120, isMovedAt: Double? = nil, hasGyroscope: Bool = true) throws -> String {
        var random = Random()
        let rootBandwidth = 50.0.squareRoot()
        var text = Recording.header + ",temp_c\n"
        for index in 0..<seconds * 100 {
            let t = Double(index) / 100
            // In separate steps, because Swift 6.0.3 fails to type-check longer expressions.
            var fields = [String(format: "%.2f", t)]
            for axis in 0..<3 {
                let density: Double = Self.accelerometer[axis] * 9.80665e-6
                var force: Double = density * random.normal() * rootBandwidth
                if axis == 2 { force += 9.80665 }
                if let isMovedAt, axis == 0, t >= isMovedAt, t < isMovedAt + 1 { force += 2 }
                fields.append(String(format: "%.7f", force))
            }
            for axis in 0..<3 {
                let density: Double = Self.gyroscope[axis] * Double.pi / 180
                let rate: Double = density * random.normal() * rootBandwidth
                fields.append(hasGyroscope ? String(format: "%.8f", rate + 0.01) : "")
            }
            text += fields.joined(separator: ",") + ",24.5\n"
        }
        return try directory.write(text, to: "rest.csv")
    }

    @Test func tableHasOneRowPerAxis() async throws {
        let outcome = try await jostle("noise", try recording()).expect(status: 0)
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.lines.first == "12000 samples in 120.0 s, 100.00 Hz, 24.5 °C at the start, 24.5 °C at the end")
        for (axis, name) in ["gx", "gy", "gz", "ax", "ay", "az"].enumerated() {
            let line = try #require(outcome.lines.first { $0.hasPrefix("  \(name) ") })
            let words = line.split(separator: " ").map(String.init)
            try #require(words.count >= 9)
            let density = axis < 3 ? Self.gyroscope[axis] : Self.accelerometer[axis - 3]
            #expect(
                words[2] == (axis < 3 ? "°/s/√Hz" : "µg/√Hz") && words[4] == (axis < 3 ? "°/√h" : "m/s/√h"), "\(line)")
            #expect(abs(try #require(Double(words[1])) / density - 1) < 0.06, "\(line)")
            // After an hour: the square root of the two-sided density times 3600 s.
            let walk = density / 2.0.squareRoot() * 60 * (axis < 3 ? 1 : 9.80665e-6)
            #expect(abs(try #require(Double(words[3])) / walk - 1) < 0.06, "\(line)")
            #expect(words[5] == "≤" && words[7] == (axis < 3 ? "°/h" : "mg"), "\(line)")
        }
        #expect(outcome.output.contains("within 10 % up to 2.35 s of averaging, within 25 % up to 13.3 s"))
        #expect(outcome.output.contains("20 minutes would extend the curve by a decade"))
        #expect(!outcome.output.contains("temperature changed"))
        // The plots: a letter for each axis, stars where curves meet, and whole decades.
        #expect(outcome.output.contains("Allan deviation of the gyroscope, °/h\n"))
        #expect(outcome.output.contains("Allan deviation of the accelerometer, mg\n"))
        #expect(outcome.lines.filter { $0.hasSuffix("averaging time, s") }.count == 2)
        let width = outcome.lines.suffix(40).map(\.count).max() ?? 0
        #expect(width <= 90)
    }

    @Test func jsonHasEveryCurvePoint() async throws {
        let outcome = try await jostle("noise", try recording(), "--json")
        let report = try #require(try JSON.object(outcome.output))
        #expect(outcome.status == 0 && report["samples"] as? Int == 12000 && report["rate_hz"] as? Double == 100)
        for (sensor, densities) in [("gyroscope", Self.gyroscope), ("accelerometer", Self.accelerometer)] {
            let sensor = try #require(report[sensor] as? [String: Any])
            #expect((sensor["units"] as? [String: String])?.count == 5)
            let axes = try #require(sensor["axes"] as? [[String: Any]])
            try #require(axes.count == 3)
            for (axis, density) in zip(axes, densities) {
                #expect(abs(try #require(axis["noise_density"] as? Double) / density - 1) < 0.06)
                #expect(axis["bias_instability_is_upper_bound"] as? Bool == true)
                #expect(axis["bias_random_walk"] == nil)
                let points = try #require(axis["points"] as? [[String: Any]])
                #expect(points.compactMap { $0["tau_s"] as? Double } == [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10])
                #expect(points.first?["pairs"] as? Int == 11999)
                #expect(points.allSatisfy { ($0["deviation"] as? Double ?? 0) > 0 })
            }
        }
    }

    @Test func svgIsWellFormedAndSmall() async throws {
        let picture = directory.path("noise.svg")
        try await jostle("noise", try recording(), "--svg", picture).expect(status: 0, output: "noise density")
        let data = try Data(contentsOf: URL(fileURLWithPath: picture))
        #expect(data.count < 20_000)
        let reader = SVGReader()
        let parser = XMLParser(data: data)
        parser.delegate = reader
        #expect(parser.parse(), "\(String(describing: parser.parserError))")
        #expect(reader.root == "svg" && reader.curves.count == 6)
        #expect(reader.texts.isSuperset(of: ["gx", "gy", "gz", "ax", "ay", "az", "averaging time, s"]))
        for curve in reader.curves {
            let points = curve.split(separator: " ").map { $0.split(separator: ",").compactMap { Double($0) } }
            #expect(points.count == 10)
            // Inside the plot area, from left to right.
            for point in points {
                #expect(point.count == 2 && (80...680).contains(point[0]) && (40...300).contains(point[1]))
            }
            #expect(zip(points, points.dropFirst()).allSatisfy { $0[0] < $1[0] })
        }
        let printed = try await jostle("noise", directory.path("rest.csv"), "--svg", "-").expect(status: 0)
        #expect(Data(printed.output.utf8) == data)
    }

    @Test func accelerometerAloneHasThreeAxes() async throws {
        try await jostle("noise", try recording(hasGyroscope: false), "--svg", directory.path("a.svg")).expect(
            status: 0, output: "\n  ax ", without: "\n  gx ", "of the gyroscope")
        let json = try await jostle("noise", directory.path("rest.csv"), "--json")
        #expect(try JSON.object(json.output)?["gyroscope"] == nil)
    }

    @Test func reportsWhenAndHowBoardMoved() async throws {
        let outcome = try await jostle("noise", try recording(isMovedAt: 60)).expect(status: 65)
        #expect(outcome.output.isEmpty)
        #expect(
            outcome.errors.contains(
                "rest.csv: the sensor was not at rest from t_s = 60.0 to 61.0: the mean of ax jumped by "),
            "\(outcome.errors)")
    }

    @Test func explainsTooShortRecording() async throws {
        try await jostle("noise", try recording(seconds: 20)).expect(
            status: 65, errors: "at least 1000 samples and 30 s")
    }

    @Test func invalidFilesAndArgumentsHaveTheirStatus() async throws {
        try await jostle("noise", directory.path("nowhere.csv")).expect(status: 66, errors: "No such file")
        try await jostle("noise", "-", input: "\(Recording.header)\n0,0,0,9.8,0,0\n").expect(
            status: 65, errors: "-:2: ")
        try await jostle("noise", "-", "--svg", "-", "--json").expect(status: 64)
        let unwritable = try await jostle("noise", try recording(), "--svg", directory.path("nowhere/noise.svg"))
            .expect(status: 73)
        #expect(unwritable.output.isEmpty)
    }
}

/// Normally distributed numbers, the same in every run: SplitMix64 and the Box-Muller transform.
private struct Random {
    private var state: UInt64 = 5

    private mutating func uniform() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return (Double((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53
    }

    mutating func normal() -> Double { (-2 * log(uniform())).squareRoot() * cos(2 * .pi * uniform()) }
}

/// The parts of an SVG that the tests check.
private final class SVGReader: NSObject, XMLParserDelegate {
    private(set) var root = ""
    private(set) var curves: [String] = []
    private(set) var texts: Set<String> = []
    private var text = ""

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        if root.isEmpty { root = name }
        if name == "polyline" { curves.append(attributes["points"] ?? "") }
        text = ""
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        if name == "text" { texts.insert(text) }
    }
}
