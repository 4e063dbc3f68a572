internal import JostleCommandLine
internal import LinuxSystem

/// `jostle manual`: writes the manual pages, for the installation.
enum ManualCommand {
    static let usage = CommandUsage(
        name: "manual", summary: "write the manual pages into a directory such as /usr/share/man",
        details: "They are made from the same descriptions as the help and the schema of the configuration.",
        operands: [CommandUsage.Operand(name: "DIRECTORY", help: "gets man1 and man5")], isHidden: true)

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let directory = arguments.operand(0) ?? ""
        for (name, page) in Manual(Command.all).pages {
            let section = "\(directory)/man\(name.last ?? "1")"
            let path = "\(section)/\(name)"
            FileContents.makeDirectories(section)
            do throws(SystemFailure) {
                try FileContents.replace(path, with: Array(page.source.utf8))
            } catch {
                throw CommandFailure(.cannotCreate, "\(path): \(error)")
            }
        }
    }
}
