import Foundation
import LinuxSystem
import MotionCore
import Testing

@testable import MotionKit

/// A file for a test, removed by `deinit`.
final class TemporaryFile {
    let path = NSTemporaryDirectory() + "jostle-\(UUID().uuidString).csv"

    init(_ content: String? = nil) throws {
        if let content { try Data(content.utf8).write(to: URL(fileURLWithPath: path)) }
    }

    var content: String {
        get throws { try String(contentsOfFile: path, encoding: .utf8) }
    }

    deinit {
        unlink(path)
    }
}

/// Requirement: valid recording files are read, and errors in others name the line.
@Suite struct RecordingReaderTests {
    private static let header = "t_s,ax,ay,az,gx,gy,gz\n"

    private func read(_ content: String) throws -> [MotionSample] {
        let file = try TemporaryFile(content)
        var reader = try RecordingReader(path: file.path)
        var samples: [MotionSample] = []
        while let sample = try reader.next() { samples.append(sample) }
        return samples
    }

    /// The line and reason of the error when reading `content`; `nil` if there is no error.
    private func problem(in content: String) throws -> (line: Int, reason: String)? {
        do {
            _ = try read(content)
            return nil
        } catch RecordingError.malformed(_, let line, let reason) {
            return (line, reason)
        }
    }

    /// Lines that begin and end anywhere in the buffer.
    @Test(arguments: ["\n", "\r\n"]) func readsLongFiles(ending: String) throws {
        var content = "t_s,ax,ay,az,gx,gy,gz" + ending
        for row in 1...9000 {
            if row % 1000 == 0 { content += "#" + String(repeating: "x", count: row * 7) + ending }
            content += "\(row),\(row % 97).125,0,9.75,0,0,0" + (row == 9000 ? "" : ending)
        }
        let samples = try read(content)
        #expect(samples.count == 9000)
        for (index, sample) in samples.enumerated() {
            #expect(sample.timestamp == Timestamp(seconds: Double(index + 1)))
            #expect(sample.acceleration == Vector3(Double((index + 1) % 97) + 0.125, 0, 9.75))
        }
    }

    /// A line has a limit, so that the memory has one.
    @Test func refusesLinesWithoutEnd() throws {
        let longest = "#" + String(repeating: "x", count: 65_535)
        #expect(try problem(in: longest + "\n" + Self.header) == nil)
        for content in [longest + "x\n" + Self.header, longest + "x"] {
            let found = try #require(try problem(in: content))
            #expect(found.line == 1 && found.reason == "longer than 65536 bytes")
        }
        #expect(try problem(in: Self.header + longest + "x\n")?.line == 2)
        #expect(throws: RecordingError.malformed(path: "/dev/zero", line: 1, reason: "longer than 65536 bytes")) {
            _ = try RecordingReader(path: "/dev/zero").line
        }
    }

    /// Who keeps the samples sets a limit, because a pipe may never end.
    @Test func refusesMoreSamplesThanAllowed() throws {
        let file = try TemporaryFile("# a\n" + Self.header + (0..<5).map { "\($0),0,0,9.75,0,0,0\n# b\n" }.joined())
        var whole = try RecordingReader(path: file.path, maximumSamples: 5)
        #expect(try whole.remainingSamples().map(\.timestamp.seconds) == [0, 1, 2, 3, 4])
        #expect(
            throws: RecordingError.malformed(
                path: file.path, line: 11,
                reason: "more than 4 samples, the most that are read here; use a part of the recording")
        ) {
            var reader = try RecordingReader(path: file.path, maximumSamples: 4)
            _ = try reader.remainingSamples()
        }
    }

    @Test func quotesOnlyTheBeginningOfLongFields() throws {
        let long = String(repeating: "9x", count: 30_000)
        for content in [
            Self.header + "0,\(long),0,0,0,0,0\n", "\(long)\n", "# accelerometer_range_m_s2: \(long)\n",
        ] {
            let reason = try #require(try problem(in: content)).reason
            #expect(reason.contains("9x9x…\"") && reason.utf8.count < 200, "\(reason)")
        }
    }

    @Test func readsEveryField() throws {
        let samples = try read(
            "t_s,ax,ay,az,gx,gy,gz,temp_c\n-0.5,1.5,-2.25,9.75,0.1,-0.2,0.3,23.5\n0.005,+1,2e0,.5,1e-3,0,-0,\n")
        try #require(samples.count == 2)
        #expect(samples[0].timestamp == Timestamp(nanoseconds: -500_000_000))
        #expect(samples[0].acceleration == Vector3(1.5, -2.25, 9.75))
        #expect(samples[0].rotationRate == Vector3(0.1, -0.2, 0.3))
        #expect(samples[0].temperature == 23.5)
        #expect(samples[0].flags == .rotationRate)
        #expect(samples[1].timestamp == Timestamp(nanoseconds: 5_000_000))
        #expect(samples[1].acceleration == Vector3(1, 2, 0.5))
        #expect(samples[1].rotationRate == Vector3(0.001, 0, 0))
        #expect(samples[1].temperature.isNaN)
    }

    @Test func readsEmptyGyroscopeFieldsAsAccelerometerOnly() throws {
        let samples = try read(Self.header + "0,1,2,3,,,\n1,1,2,3, , ,\n2,1,2,3,4,5,6\n")
        #expect(samples.map { $0.flags.contains(.rotationRate) } == [false, false, true])
        #expect(samples[0].rotationRate == .zero)
        #expect(samples.allSatisfy { $0.temperature.isNaN })
        // As it was written once.
        #expect(try read("# gyroscope_range_rad_s: 0.0\n" + Self.header + "0,1,2,3,,,\n").count == 1)
    }

    /// Comments and empty lines anywhere, line ends of all systems, a byte order mark, blanks, no line feed at the end.
    @Test(arguments: [
        "# a\n\n# b: c\nt_s,ax,ay,az,gx,gy,gz\n# d\n0,1,2,3,4,5,6\n\n# e\n1,1,2,3,4,5,6\n# f",
        "t_s,ax,ay,az,gx,gy,gz\r\n0,1,2,3,4,5,6\r\n\r\n1,1,2,3,4,5,6\r\n",
        "\u{FEFF}t_s,ax,ay,az,gx,gy,gz\n0,1,2,3,4,5,6\n1,1,2,3,4,5,6\n",
        "\u{FEFF}# a\r\nt_s,ax,ay,az,gx,gy,gz\n0,1,2,3,4,5,6\n1,1,2,3,4,5,6\n",
        "t_s, ax, ay, az, gx, gy, gz\n 0 , 1 , 2 , 3 , 4 , 5 , 6 \n1, 1, 2, 3, 4, 5, 6\n",
        "t_s,ax,ay,az,gx,gy,gz\n0,1,2,3,4,5,6\n1,1,2,3,4,5,6",
    ])
    func ignoresCommentsAndBlanks(content: String) throws {
        let samples = try read(content)
        #expect(samples.map(\.timestamp.seconds) == [0, 1])
        #expect(samples.allSatisfy { $0.acceleration == Vector3(1, 2, 3) && $0.rotationRate == Vector3(4, 5, 6) })
    }

    @Test func marksClippedSamplesByRangeComments() throws {
        let file = try TemporaryFile(
            """
            # accelerometer_range_m_s2: 19.6133
            # gyroscope_range_rad_s: 8.7266 rad/s
            \(Self.header)0,19.6133,-19.6133,9,0,0,0
            1,1,2,-19.58,8.7,8.72,-8.7266
            2,19.5,0,0,,,

            """)
        var reader = try RecordingReader(path: file.path)
        #expect(reader.accelerometerRange == 19.6133)
        #expect(reader.gyroscopeRange == 8.7266)
        let first = try #require(try reader.next())
        #expect(first.flags == [.rotationRate, .accelerationClipped(axis: 0), .accelerationClipped(axis: 1)])
        let second = try #require(try reader.next())
        #expect(
            second.flags == [
                .rotationRate, .accelerationClipped(axis: 2), .rotationRateClipped(axis: 1),
                .rotationRateClipped(axis: 2),
            ])
        #expect(try reader.next()?.flags == [])
    }

    /// Without a comment, the range is unknown, and nothing is marked as clipped.
    @Test func marksNothingAsClippedWithoutRanges() throws {
        let file = try TemporaryFile("# range: 5\n" + Self.header + "0,99999,0,0,9999,0,0\n")
        var reader = try RecordingReader(path: file.path)
        #expect(reader.accelerometerRange == nil)
        #expect(reader.gyroscopeRange == nil)
        #expect(try reader.next()?.flags == .rotationRate)
    }

    @Test func reportsLineAndTimeText() throws {
        let file = try TemporaryFile("# a\n" + Self.header + "0.50,1,2,3,4,5,6\n# b\n0.750,1,2,3,4,5,6\n")
        var reader = try RecordingReader(path: file.path)
        #expect(reader.line == 2)
        _ = try reader.next()
        #expect(reader.line == 3)
        #expect(reader.timeText == "0.50")
        _ = try reader.next()
        #expect(reader.line == 5)
        #expect(reader.timeText == "0.750")
        #expect(try reader.next() == nil)
        #expect(reader.line == 5)
    }

    struct MalformedRow: Sendable, CustomTestStringConvertible {
        var row: String
        var word: String
        var testDescription: String { row }

        init(_ row: String, _ word: String) {
            self.row = row
            self.word = word
        }
    }

    /// The second row, in line 4 of the file, is malformed.
    @Test(arguments: [
        MalformedRow("1", "1 fields"), MalformedRow("1,1,2,3,4,5", "6 fields"),
        MalformedRow("1,1,2,3,4,5,6,7", "more than 7"),
        MalformedRow("1,1,2,3,4,5,6,", "more than 7"), MalformedRow("1;1;2;3;4;5;6", "t_s"), MalformedRow("   ", "t_s"),
        MalformedRow("x,1,2,3,4,5,6", "t_s is \"x\""), MalformedRow("1,abc,2,3,4,5,6", "ax is \"abc\""),
        MalformedRow("1,1,nan,3,4,5,6", "ay is \"nan\""), MalformedRow("1,1,2,inf,4,5,6", "az is \"inf\""),
        MalformedRow("1,1,2,3,-inf,5,6", "gx is \"-inf\""), MalformedRow("1,1,2,3,4,0x10,6", "gy is \"0x10\""),
        MalformedRow("1,1,2,3,4,5,1e999", "gz is \"1e999\""), MalformedRow("1,1 2,2,3,4,5,6", "ax is \"1 2\""),
        MalformedRow("1,1e,2,3,4,5,6", "ax is \"1e\""), MalformedRow("1,1.2.3,2,3,4,5,6", "ax is \"1.2.3\""),
        MalformedRow("1,-,2,3,4,5,6", "ax is \"-\""), MalformedRow("1,1\u{0},2,3,4,5,6", "ax is"),
        MalformedRow("1,\"1\",2,3,4,5,6", "ax is"), MalformedRow(",1,2,3,4,5,6", "t_s is empty"),
        MalformedRow("1,,2,3,4,5,6", "ax is empty"), MalformedRow("1,1, ,3,4,5,6", "ay is empty"),
        MalformedRow("1,1,2,,4,5,6", "az is empty"), MalformedRow("1,1,2,3,,5,6", "gx, gy and gz"),
        MalformedRow("1,1,2,3,4,5,", "gx, gy and gz"), MalformedRow("0,1,2,3,4,5,6", "not later"),
        MalformedRow("-1,1,2,3,4,5,6", "not later"), MalformedRow("1e-10,1,2,3,4,5,6", "not later"),
        MalformedRow("1e10,1,2,3,4,5,6", "t_s is 10000000000.0, beyond 9000000000 s"),
        MalformedRow("1e300,1,2,3,4,5,6", "beyond"),
        MalformedRow("1,1,-1e238,3,4,5,6", "ay is -1e+238, beyond 100000 m/s²"),
        MalformedRow("1,1,2,100000.1,4,5,6", "az is"), MalformedRow("1,1,2,3,4,10000.1,6", "beyond 10000 rad/s"),
    ])
    func reportsLineOfMalformedRow(wrong: MalformedRow) throws {
        let content = "# first\n" + Self.header + "0,1,2,3,4,5,6\n" + wrong.row + "\n2,1,2,3,4,5,6\n"
        let problem = try #require(try problem(in: content))
        #expect(problem.line == 4)
        #expect(problem.reason.contains(wrong.word))
    }

    /// With a temperature, a row has eight fields.
    @Test func checksTemperatureField() throws {
        let header = "t_s,ax,ay,az,gx,gy,gz,temp_c\n"
        #expect(try problem(in: header + "0,1,2,3,4,5,6\n")?.line == 2)
        #expect(try problem(in: header + "0,1,2,3,4,5,6,7,8\n")?.line == 2)
        #expect(try problem(in: header + "0,1,2,3,4,5,6,warm\n")?.reason.contains("temp_c") == true)
        #expect(try problem(in: header + "0,1,2,3,4,5,6,1e5\n")?.reason == "temp_c is 100000.0, beyond 10000 °C")
    }

    /// The start of a file, the line of the error, and a word of its reason.
    static let malformedHeaders: [(String, Int, String)] = [
        ("", 1, "no header"), ("# nothing\n\n", 3, "no header"), ("0,1,2,3,4,5,6\n", 1, "header"),
        ("# a\nt,ax,ay,az,gx,gy,gz\n0,1,2,3,4,5,6\n", 2, "header"), ("t_s,ax,ay,az\n", 1, "header"),
        ("t_s,ax,ay,az,gx,gy,gz,temp\n", 1, "header"), ("t_s,ay,ax,az,gx,gy,gz\n", 1, "header"),
        ("# a\n# accelerometer_range_m_s2: wide\n" + header, 2, "accelerometer_range_m_s2"),
        ("# accelerometer_range_m_s2: -8\n" + header, 1, "accelerometer_range_m_s2"),
        ("# accelerometer_range_m_s2: 1e200\n" + header, 1, "1e+200, beyond 100000"),
        ("# accelerometer_range_m_s2:\n" + header, 1, "accelerometer_range_m_s2"),
        ("# gyroscope_range_rad_s: nan\n" + header, 1, "gyroscope_range_rad_s"),
        ("# gyroscope_range_rad_s: inf\n" + header, 1, "gyroscope_range_rad_s"),
        ("# gyroscope_range_rad_s: 0\n" + header, 1, "gyroscope_range_rad_s"),
    ]

    @Test(arguments: malformedHeaders)
    func reportsLineOfMalformedHeader(content: String, line: Int, word: String) throws {
        let problem = try #require(try problem(in: content))
        #expect(problem.line == line)
        #expect(problem.reason.contains(word))
    }

    @Test func reportsSystemErrorOnRead() {
        #expect(throws: RecordingError.system(path: "/nonexistent/file.csv", SystemFailure(code: ENOENT))) {
            _ = try RecordingReader(path: "/nonexistent/file.csv")
        }
        #expect(throws: RecordingError.system(path: "/tmp", SystemFailure(code: EISDIR))) {
            _ = try RecordingReader(path: "/tmp")
        }
    }

    @Test func errorNamesFileAndLine() {
        let error = RecordingError.malformed(path: "a.csv", line: 12, reason: "ax is empty")
        #expect("\(error)" == "a.csv:12: ax is empty")
        #expect(
            "\(RecordingError.system(path: "a.csv", SystemFailure(code: ENOENT)))" == "a.csv: No such file or directory"
        )
    }
}

/// Written recordings read back exactly, to the last digit that is written.
@Suite struct RecordingWriterTests {
    @Test func readsBackWhatItWrites() throws {
        let file = try TemporaryFile()
        var written: [MotionSample] = []
        for index in 0..<200 {
            let x = Double(index)
            var sample = MotionSample(
                timestamp: Timestamp(nanoseconds: 5_000_000_000_123 + Int64(index) * 5_012_345),
                acceleration: Vector3(sin(x) * 78, -cos(x) / 3, 9.80665 + x * 1e-6),
                rotationRate: Vector3(-sin(2 * x) * 34, cos(3 * x) * 1e-5, x / 7), temperature: 20 - x / 9)
            if index % 50 == 7 {
                sample.flags = []
                sample.rotationRate = .zero
            }
            if index % 50 == 9 { sample.temperature = .nan }
            written.append(sample)
        }
        do {
            var writer = try RecordingWriter(
                path: file.path, accelerometerRange: 156.9064, gyroscopeRange: 35, hasTemperature: true)
            for sample in written { try writer.write(sample) }
            try writer.flush()
        }
        var reader = try RecordingReader(path: file.path)
        #expect(reader.accelerometerRange == 156.9064)
        #expect(reader.gyroscopeRange == 35)
        for sample in written {
            let read = try #require(try reader.next())
            #expect(read.timestamp.nanoseconds == sample.timestamp.nanoseconds - written[0].timestamp.nanoseconds)
            #expect((read.acceleration - sample.acceleration).length < 1e-5)
            #expect((read.rotationRate - sample.rotationRate).length < 1e-6)
            #expect(read.flags == sample.flags)
            #expect(
                read.temperature.isNaN && sample.temperature.isNaN
                    || abs(read.temperature - sample.temperature) <= 0.00501)
        }
        #expect(try reader.next() == nil)
    }

    @Test func readsBackASensorWithoutGyroscope() throws {
        let file = try TemporaryFile()
        let sample = MotionSample(
            timestamp: Timestamp(seconds: 1), acceleration: Vector3(1, 2, 3), rotationRate: .zero, flags: [])
        do {
            var writer = try RecordingWriter(
                path: file.path, accelerometerRange: 80, gyroscopeRange: 0, hasTemperature: false)
            try writer.write(sample)
            try writer.flush()
        }
        var reader = try RecordingReader(path: file.path)
        #expect(try reader.remainingSamples().map(\.acceleration) == [sample.acceleration])
        #expect(reader.gyroscopeRange == nil)
    }

    /// The format is a contract, so this compares the whole file.
    @Test func writesDocumentedFormat() throws {
        let file = try TemporaryFile()
        do {
            var writer = try RecordingWriter(
                path: file.path, accelerometerRange: 19.6133, gyroscopeRange: 8.7266, hasTemperature: false)
            for (index, x) in [0.000004, -0.000006, -2.5].enumerated() {
                try writer.write(
                    MotionSample(
                        timestamp: Timestamp(seconds: 50 + 0.005 * Double(index)), acceleration: Vector3(x, 0, 9.81),
                        rotationRate: Vector3(0, -x, 0)))
            }
            try writer.flush()
        }
        #expect(
            try file.content == """
                # accelerometer_range_m_s2: 19.6133
                # gyroscope_range_rad_s: 8.7266
                t_s,ax,ay,az,gx,gy,gz
                0.000000000,0.00000,0.00000,9.81000,0.000000,-0.000004,0.000000
                0.005000000,-0.00001,0.00000,9.81000,0.000000,0.000006,0.000000
                0.010000000,-2.50000,0.00000,9.81000,0.000000,2.500000,0.000000

                """)
    }

    /// A driver may place two samples a nanosecond apart, and the file must still be readable.
    /// A reading of the magnetometer is in the row of the first sample that is not earlier.
    @Test func keepsReadingsOfMagnetometer() throws {
        let file = try TemporaryFile()
        do {
            var writer = try RecordingWriter(
                path: file.path, accelerometerRange: .infinity, gyroscopeRange: .infinity, hasTemperature: false,
                hasField: true)
            for (time, field) in [(0.9, 1), (1.004, -21.5), (1.011, 3), (1.014, 4)] as [(Double, Double)] {
                writer.add(
                    MagneticSample(timestamp: Timestamp(seconds: time), field: Vector3(field, 0.25, -43.1256)))
            }
            for index in 0..<5 {
                try writer.write(
                    MotionSample(
                        timestamp: Timestamp(seconds: 1 + 0.005 * Double(index)), acceleration: .zero,
                        rotationRate: .zero))
            }
            try writer.flush()
        }
        #expect(
            try file.content.split(separator: "\n").map { $0.split(separator: ",", omittingEmptySubsequences: false) }
                .map { $0.dropFirst(7).joined(separator: ",") }
                == [
                    "temp_c,mx,my,mz", ",1.000,0.250,-43.126", ",-21.500,0.250,-43.126", ",,,", ",4.000,0.250,-43.126",
                    ",,,",
                ])
        var reader = try RecordingReader(path: file.path)
        let hasField = reader.hasField
        #expect(hasField)
        var fields: [Vector3?] = []
        while let sample = try reader.next() {
            fields.append(reader.field?.field)
            if let field = reader.field { #expect(field.timestamp == sample.timestamp) }
        }
        #expect(
            fields == [
                Vector3(1, 0.25, -43.126), Vector3(-21.5, 0.25, -43.126), nil, Vector3(4, 0.25, -43.126), nil,
            ])
    }

    @Test(arguments: [
        (",,mx,my,mz", "header"), (",temp_c,mx,my", "header"), (",mx,my,mz", "header"),
    ])
    func refusesOtherColumns(columns: String, reason: String) throws {
        let file = try TemporaryFile("t_s,ax,ay,az,gx,gy,gz\(columns)\n")
        #expect(throws: RecordingError.self) { _ = try RecordingReader(path: file.path) }
    }

    @Test(arguments: [
        ("1,0,0,9,0,0,0,,1,2", "10 fields instead of 11"), ("1,0,0,9,0,0,0,,1,2,", "mx, my and mz must be all present"),
        ("1,0,0,9,0,0,0,,1,2,x", "mz is \"x\""), ("1,0,0,9,0,0,0,,1,2,3e5", "mz is 300000.0, beyond 100000 µT"),
        ("1,0,0,9,0,0,0,,1,2,3,4", "more than 11 fields"),
    ])
    func refusesOtherFields(row: String, reason: String) throws {
        let file = try TemporaryFile("t_s,ax,ay,az,gx,gy,gz,temp_c,mx,my,mz\n\(row)\n")
        var reader = try RecordingReader(path: file.path)
        // Swift 6.0.3 crashes on a pattern behind this `catch`.
        do throws(RecordingError) {
            _ = try reader.next()
            Issue.record("the row was read")
        } catch {
            guard case .malformed(_, let line, let found) = error else { throw error }
            #expect(line == 2 && found.contains(reason), "\(found)")
        }
    }

    @Test func keepsSamplesOneNanosecondApart() throws {
        let file = try TemporaryFile()
        do {
            var writer = try RecordingWriter(
                path: file.path, accelerometerRange: 78, gyroscopeRange: 35, hasTemperature: true)
            for nanoseconds: Int64 in [7, 8, 90_000_000_000_009, 90_000_000_000_010] {
                try writer.write(
                    MotionSample(
                        timestamp: Timestamp(nanoseconds: nanoseconds), acceleration: .zero, rotationRate: .zero))
            }
            try writer.flush()
        }
        var reader = try RecordingReader(path: file.path)
        var times: [Int64] = []
        while let sample = try reader.next() { times.append(sample.timestamp.nanoseconds) }
        #expect(times == [0, 1, 90_000_000_000_002, 90_000_000_000_003])
    }

    @Test func reportsSystemErrorOnWrite() throws {
        #expect(throws: RecordingError.system(path: "/nonexistent/file.csv", SystemFailure(code: ENOENT))) {
            _ = try RecordingWriter(
                path: "/nonexistent/file.csv", accelerometerRange: 78, gyroscopeRange: 35, hasTemperature: true)
        }
        let full = try RecordingWriter(
            path: "/dev/full", accelerometerRange: 78, gyroscopeRange: 35, hasTemperature: true)
        #expect(throws: RecordingError.system(path: "/dev/full", SystemFailure(code: ENOSPC))) { try full.flush() }
    }
}
