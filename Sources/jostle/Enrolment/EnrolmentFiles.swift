internal import Glibc
internal import JostleOperator
internal import LinuxSystem

/// The directory of `jostle fleet enroll`: a password file for the broker, and a directory for each board.
struct EnrolmentFiles {
    private let root: String
    private(set) var passwords: MosquittoPasswords

    private static let maximumBytes = 64 << 20

    var passwordFile: String { "\(root)/passwords" }

    func directory(of id: String) -> String { "\(root)/\(id)" }

    /// Reads the password file, if there is one.
    ///
    /// - Throws: status 66 if it cannot be read.
    init(_ path: String) throws(CommandFailure) {
        root = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        passwords = MosquittoPasswords("")
        do throws(SystemFailure) {
            passwords = MosquittoPasswords(
                try FileContents.text(of: "\(root)/passwords", limit: EnrolmentFiles.maximumBytes))
        } catch {
            guard error == SystemFailure(code: ENOENT) else {
                throw CommandFailure(.noInput, "\(root)/passwords: \(error)")
            }
        }
    }

    /// Writes the files of a board, and then its user.
    ///
    /// - Throws: status 73 if a file cannot be written.
    mutating func add(_ board: BoardEnrolment) throws(CommandFailure) {
        var changed = passwords
        guard changed.set(board.id, password: board.password) else {
            throw CommandFailure(.system, "OpenSSL has no SHA-512")
        }
        let directory = directory(of: board.id)
        makeSecretDirectory(root)
        makeSecretDirectory(directory)
        var contents = [
            ("jostle.yaml", Array(board.configText.utf8)), ("password", Array("\(board.password)\n".utf8)),
            ("user-data", Array(board.userData.utf8)), ("meta-data", Array(board.metaData.utf8)),
            ("\(board.id).tar", board.archive(at: time(nil))),
        ]
        if let authority = board.authority { contents.append(("ca.pem", authority)) }
        for (name, bytes) in contents { try write(bytes, to: "\(directory)/\(name)") }
        try write(Array(changed.text.utf8), to: passwordFile)
        passwords = changed
    }

    /// Takes the user away, and deletes the files of the board.
    ///
    /// - Throws: status 73 if the password file cannot be written.
    mutating func remove(_ id: String) throws(CommandFailure) {
        passwords.remove(id)
        try write(Array(passwords.text.utf8), to: passwordFile)
        FileContents.removeDirectory(directory(of: id))
    }

    private func makeSecretDirectory(_ path: String) {
        guard !DirectoryContents.exists(path) else { return }
        FileContents.makeDirectories(path)
        chmod(path, 0o700)
    }

    /// Writes a file that only this user can read, unless it exists with other permissions.
    private func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        do throws(SystemFailure) {
            try FileContents.create(path, with: bytes, mode: 0o600)
            return
        } catch {
            guard error == SystemFailure(code: EEXIST) else { throw CommandFailure(.cannotCreate, "\(path): \(error)") }
        }
        do throws(SystemFailure) {
            try FileContents.replace(path, with: bytes)
        } catch {
            throw CommandFailure(.cannotCreate, "\(path): \(error)")
        }
    }
}
