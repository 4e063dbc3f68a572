internal import JostleConfiguration
internal import JostleOperator
internal import LinuxSystem

/// The directory of files of a fleet, for `apply`, `diff` and `export`.
enum FleetFiles {
    /// Reads and checks the files.
    ///
    /// - Throws: status 66 if they cannot be read, 65 with file, line and column of every problem.
    static func read(_ path: String, ignoresUnknownKeys: Bool) throws(CommandFailure) -> FleetDirectory {
        let files: [FleetDirectory.File]
        do throws(FleetDirectoryError) {
            files = try FleetDirectory.files(at: path)
        } catch {
            throw CommandFailure(.noInput, "\(error)")
        }
        let directory = FleetDirectory(files, ignoresUnknownKeys: ignoresUnknownKeys)
        guard directory.problems.isEmpty else {
            throw CommandFailure(.badData, lines: directory.problems.map(\.description))
        }
        for key in directory.unknownKeys {
            Output.errors("jostle: \(key): unknown key; boards that do not know it either leave it out")
        }
        return directory
    }

    /// The value of `--unknown`; `nil` without it.
    static func ignoresUnknownKeys(_ arguments: Arguments) throws(CommandFailure) -> Bool? {
        switch arguments.value("unknown") {
        case nil: return nil
        case "reject": return false
        case "ignore": return true
        case let word?: throw CommandFailure(.usage, "--unknown is \"\(word)\", not reject or ignore")
        }
    }
}
