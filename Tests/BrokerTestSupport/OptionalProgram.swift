import Foundation

/// Programs that some tests need and that need not be installed: `Scripts/setup test` unpacks them into `.build/tools`.
package enum OptionalProgram {
    /// The path of a program, there or on `PATH`; `nil` if there is none, and its tests must be skipped.
    package static func path(_ name: String) -> String? {
        let repository = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let places = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":").map(String.init) ?? []
        return (places + [repository.path + "/.build/tools/usr/bin"]).map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
