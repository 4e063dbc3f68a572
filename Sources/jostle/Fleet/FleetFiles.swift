internal import JostleCommandLine
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
            throw CommandFailure(error.isUnsuitable ? .badData : .noInput, "\(error)")
        }
        let directory = FleetDirectory(files, ignoresUnknownKeys: ignoresUnknownKeys)
        guard directory.problems.isEmpty else {
            throw CommandFailure(
                .badData, lines: directory.problems.map(\.description) + more(directory.moreProblems, "problem"))
        }
        for key in directory.unknownKeys {
            Output.errors("jostle: \(key): unknown key; boards that do not know it either leave it out")
        }
        for line in more(directory.moreUnknownKeys, "unknown key") { Output.errors("jostle: \(line)") }
        return directory
    }

    /// A line about what is not printed; none if there is nothing more.
    private static func more(_ count: Int, _ name: String) -> [String] {
        count > 0 ? ["and \(FleetText.count(count, "more \(name)"))"] : []
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
