import Foundation

/// Programs that some tests need and that need not be installed: `Scripts/setup test` unpacks them into `.build/tools`.
package enum OptionalProgram {
    /// The path of a program, there or on `PATH`, or of one that Debian installs in `directory`; `nil` if there is none, and
    /// its tests must be skipped.
    package static func path(_ name: String, in directory: String? = nil) -> String? {
        let places = directory.map { [tools + $0, $0] } ?? searchPath
        return places.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The directories to look in: what was unpacked is complete, what is installed may be a part.
    static var searchPath: [String] {
        let places = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":").map(String.init) ?? []
        return [tools + "/usr/bin", tools + "/usr/sbin"] + places
    }

    private static let tools = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent(".build/tools").path
}
