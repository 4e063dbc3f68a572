import Foundation
import JostleConfiguration
import Testing

/// Requirement: what the documentation names exists: keys, `make` targets, scripts, tests, variables, messages.
@Suite struct NameTests {
    @Test func configurationKeysExist() throws {
        let keys = ConfigurationSchema.keys.map(\.path)
        let sections = Set(keys.compactMap { $0.split(separator: ".").first.map(String.init) })
        var count = 0
        for page in try Documentation.pages() {
            for span in page.codeSpans {
                // `log.level: debug` names log.level.
                let name = String(span.prefix { $0 != ":" && $0 != "=" })
                guard name.contains(/^[a-z_]+(\.[a-z_]+)+$/), let section = name.split(separator: ".").first,
                    sections.contains(String(section))
                else { continue }
                count += 1
                let exists =
                    keys.contains(name) || keys.contains { $0.hasPrefix(name + ".") }
                    || name.hasPrefix("gestures.learned")
                #expect(exists, "\(page.path): there is no key \(name)")
            }
        }
        #expect(count > 30)
    }

    /// What a message tells the reader to set.
    @Test func configurationKeysInMessagesExist() throws {
        let keys = ConfigurationSchema.keys.map(\.path)
        let sections = Set(keys.compactMap { $0.split(separator: ".").first })
        var count = 0
        for text in NameTests.texts {
            for match in text.matches(of: /(^|[^A-Za-z0-9_.\/-])([a-z_]+(\.[a-z_]+)+)/) {
                let name = match.output.2
                guard let section = name.split(separator: ".").first, sections.contains(section) else { continue }
                count += 1
                let exists =
                    keys.contains(String(name)) || keys.contains { $0.hasPrefix("\(name).") }
                    || name.hasPrefix("gestures.learned")
                #expect(exists, "there is no key \(name), which a message names: \(text)")
            }
        }
        #expect(count > 50)
    }

    @Test func makeTargetsScriptsAndTestsExist() throws {
        let makefile = try Documentation.text(of: "Makefile")
        let targets = Set(makefile.matches(of: /(?m)^([a-z-]+):/).map { String($0.1) })
        let tests = try Documentation.swiftSources(below: "Tests")
        for command in try Documentation.commands() {
            guard let program = command.words.first else { continue }
            if program.hasPrefix("Scripts/") {
                let path = Documentation.repository.appendingPathComponent(program).path
                #expect(FileManager.default.fileExists(atPath: path), "\(command.place): there is no \(program)")
            }
            guard program == "make" else { continue }
            for word in command.words.dropFirst() where word.contains(/^[a-z-]+$/) {
                #expect(targets.contains(word), "\(command.place): the Makefile has no target \(word)")
            }
            for word in command.words where word.hasPrefix("FILTER=") {
                for name in word.dropFirst(7).split(whereSeparator: { "|\\".contains($0) }) {
                    // Not in the expectation, which would print all tests.
                    let folder = Documentation.repository.appendingPathComponent("Tests/\(name)").path
                    let exists = tests.contains(name) || FileManager.default.fileExists(atPath: folder)
                    #expect(exists, "\(command.place): no test matches \(name)")
                }
            }
        }
    }

    @Test func environmentVariablesExist() throws {
        let others = ["Makefile", "Scripts/run-tests", "Scripts/test-on-kernel", "deploy/systemd/jostle.service"]
        let known = try (["Sources", "Tests"].map(Documentation.swiftSources) + others.map(Documentation.text))
            .joined(separator: "\n")
        for page in try Documentation.pages() {
            for match in page.lines.joined(separator: "\n").matches(of: /JOSTLE_[A-Z]+(_[A-Z]+)*/) {
                let isRead = known.contains(match.output.0)
                #expect(isRead, "\(page.path): nothing reads \(match.output.0)")
            }
        }
    }

    /// The headings in code of the troubleshooting page are what the program says; … stands for what varies.
    @Test func messagesInTroubleshootingAreThoseOfTheProgram() throws {
        let sources = NameTests.code
        let page = try Documentation.page("docs/troubleshooting.md")
        let messages = page.prose.matches(of: /(?m)^## `(.+)`$/).map { String($0.1) }
        #expect(messages.count > 10)
        for message in messages {
            // What the C library says is in no source.
            var own = message
            for number in [EACCES, EBUSY] { own = own.replacing(": " + String(cString: strerror(number)), with: "") }
            if own == String(cString: strerror(EBUSY)) { continue }
            for piece in own.split(separator: "…") where piece.contains(where: \.isLetter) {
                let isSaid = sources.contains(piece)
                #expect(isSaid, "docs/troubleshooting.md: nothing says \"\(piece)\"")
            }
        }
    }

    /// The sample outputs that need a sensor or a broker cannot be run here, but their words are those of the program.
    @Test(arguments: [
        (
            "README.md",
            ["no answer at", "<- auto takes this", "auto takes the ", " of the bus", "Hz are possible"]
        ),
        (
            "docs/chips.md",
            [
                "no answer at", "<- auto takes this", "auto takes the ", " of the bus", "Hz are possible",
                "self-test of ", "response", "factory", "deviation", " samples in ", " at the start, ", "noise density",
                "random walk", "bias instability", "bias random walk", "no source for ",
            ]
        ),
        (
            "docs/gestures.md",
            ["sensitivity", "caught", "by mistake", "<- now", "<- best", "swings to and fro", " are needed"]
        ),
        ("docs/home-assistant.md", [", takes "]),
        ("docs/calibration.md", ["Gravity error: ", " mg before, ", "A turn of 360° reads ", "° before, "]),
        (
            "docs/command-line.md",
            ["connected to ", "side up", "moving", "vibrating", "accel.", "rotation", "bus errors", "memory"]
        ),
    ])
    func sampleOutputsHaveTheWordsOfTheProgram(path: String, words: [String]) throws {
        let page = try Documentation.text(of: path)
        let sources = NameTests.code
        for word in words {
            let (isQuoted, isSaid) = (page.contains(word), sources.contains(word))
            #expect(isQuoted && isSaid, "\"\(word)\" must be in \(path) and in a message of the program")
        }
    }

    /// The code of a driver marks constants without a source, and then `jostle scan --verbose` lists some.
    @Test(arguments: [
        "ADXL345", "BMI160", "ICM20948", "ICM42688", "LIS3DH", "LSM6DS", "LSM9DS1", "MPU", "Magnetometer",
    ])
    func constantsWithoutSourceAreListed(driver: String) throws {
        let code = try Documentation.swiftSources(below: "Sources/IMUDrivers/\(driver)")
        #expect(code.count > 1000)
        let (isMarked, isListed) = (code.contains("Unsourced"), code.contains("var unsourced"))
        #expect(isMarked == isListed)
        let (isAssumed, isFromMemory) = (code.contains("No source"), code.contains("from memory"))
        #expect(!isAssumed && !isFromMemory, "constants without a source are marked with \"Unsourced\"")
    }

    /// The texts in the program's code, without what is put into them, which are texts of their own.
    private static let texts: [String] = {
        var texts: [String] = []
        // The texts that are open, and in each the parentheses of the expression that is put into it.
        var open: [(text: String, isLong: Bool, depth: Int?)] = []
        var rest = code[...]
        while let character = rest.first {
            let isLong = character == "\"" && rest.hasPrefix("\"\"\"")
            let inText = open.last.map { $0.depth == nil } ?? false
            switch character {
            case "\n" where !open.allSatisfy(\.isLong): open = []
            case "\\" where inText:
                if rest.hasPrefix("\\(") { open[open.count - 1].depth = 0 }
                rest.removeFirst()
            case "\"" where inText && (isLong || open.last?.isLong == false):
                texts.append(open.removeLast().text)
                if isLong { rest.removeFirst(2) }
            case "\"" where !inText:
                open.append(("", isLong, nil))
                if isLong { rest.removeFirst(2) }
            case "(" where !inText && !open.isEmpty: open[open.count - 1].depth? += 1
            case ")" where !inText && !open.isEmpty:
                let depth = open[open.count - 1].depth ?? 0
                open[open.count - 1].depth = depth > 0 ? depth - 1 : nil
            case _ where inText: open[open.count - 1].text.append(character)
            default: break
            }
            if !rest.isEmpty { rest.removeFirst() }
        }
        return texts
    }()

    /// The program without comments, with the pieces of long texts joined.
    private static let code: String = {
        let lines = ((try? Documentation.swiftSources(below: "Sources")) ?? "").split(separator: "\n")
        let code = lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
        return code.replacing(/"\s*\+ "/, with: "")
    }()
}
