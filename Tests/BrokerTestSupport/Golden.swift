import Foundation
import Testing

/// Compares a text that other programs rely on, byte for byte, with the recorded file `Tests/Golden/NAME`.
///
/// With `JOSTLE_WRITE_GOLDEN=1` it writes the file instead. What changed then shows in the difference of the files.
package func expectGolden(_ text: String, _ name: String, sourceLocation: SourceLocation = #_sourceLocation) {
    let file = goldenDirectory.appendingPathComponent(name)
    let new = Array(text.utf8)
    if ProcessInfo.processInfo.environment["JOSTLE_WRITE_GOLDEN"] == "1" {
        do {
            try FileManager.default.createDirectory(at: goldenDirectory, withIntermediateDirectories: true)
            try Data(new).write(to: file, options: .atomic)
        } catch {
            Issue.record("Tests/Golden/\(name) cannot be written: \(error)", sourceLocation: sourceLocation)
        }
        return
    }
    guard let old = FileManager.default.contents(atPath: file.path) else {
        Issue.record(
            "there is no Tests/Golden/\(name); JOSTLE_WRITE_GOLDEN=1 Scripts/run-tests 'Golden' writes it",
            sourceLocation: sourceLocation)
        return
    }
    guard let difference = goldenDifference(Array(old), new) else { return }
    Issue.record("Tests/Golden/\(name): \(difference)", sourceLocation: sourceLocation)
}

/// The same for texts with names.
package func expectGolden(_ texts: GoldenText, _ name: String, sourceLocation: SourceLocation = #_sourceLocation) {
    expectGolden(texts.text, name, sourceLocation: sourceLocation)
}

private let goldenDirectory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Golden")

/// The first line in which two texts differ, recorded and now; `nil` if they are the same.
package func goldenDifference(_ old: [UInt8], _ new: [UInt8]) -> String? {
    guard old != new else { return nil }
    let oldLines = old.split(separator: 0x0A, omittingEmptySubsequences: false)
    let newLines = new.split(separator: 0x0A, omittingEmptySubsequences: false)
    let index = zip(oldLines, newLines).prefix { $0 == $1 }.count
    let oldLine = index < oldLines.count ? Array(oldLines[index]) : nil
    let newLine = index < newLines.count ? Array(newLines[index]) : nil
    let same = zip(oldLine ?? [], newLine ?? []).prefix { $0 == $1 }.count
    return "line \(index + 1) differs at byte \(same + 1)\n"
        + "  recorded: \(goldenExcerpt(oldLine, around: same))\n  now:      \(goldenExcerpt(newLine, around: same))"
}

/// A line; of a long one, what is around a byte.
private func goldenExcerpt(_ line: [UInt8]?, around byte: Int) -> String {
    guard let line else { return "(the end of the text)" }
    guard line.count > 400 else { return String(decoding: line, as: UTF8.self) }
    let start = max(0, byte - 120)
    let end = min(line.count, byte + 280)
    let text = String(decoding: line[start..<end], as: UTF8.self)
    return (start > 0 ? "…" : "") + text + (end < line.count ? "…" : "")
}

/// Texts of one golden file: each has a line of its own, a text of several lines a block.
package struct GoldenText {
    package private(set) var text = ""

    package init() {}

    /// Begins a group of texts.
    package mutating func heading(_ title: String) {
        text += (text.isEmpty ? "" : "\n") + "# \(GoldenText.printable(title))\n"
    }

    /// Adds a text. Each line of a block has a bar before it, so that the end of the block is known.
    package mutating func add(_ name: String, _ content: String) {
        let name = GoldenText.printable(name)
        let lines = content.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { String(Substring($0)) }
        guard lines.count > 1 else {
            text += content.isEmpty ? "\(name):\n" : "\(name): \(content)\n"
            return
        }
        text += "\(name):\n"
        let hasEnd = lines.last == ""
        for line in hasEnd ? lines.dropLast() : lines[...] { text += line.isEmpty ? "|\n" : "| \(line)\n" }
        if !hasEnd { text += "\\ no line feed at the end\n" }
    }

    /// A name on one line.
    private static func printable(_ name: String) -> String {
        name.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format: "·"
            default: String(scalar)
            }
        }.joined()
    }

    /// Adds a message or a file.
    package mutating func add(_ name: String, _ bytes: [UInt8]) {
        add(name, String(decoding: bytes, as: UTF8.self))
    }
}

/// A private key that never changes, as `jostle fleet keygen` writes it: that of the second test in RFC 8032, section
/// 7.1.
package let goldenSigningKey = """
    Jostle fleet key ops-1
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7
    -----END PRIVATE KEY-----

    """
