internal import Glibc
internal import JostleCommandLine
internal import JostleOperator
internal import LinuxSystem

/// The directory of `jostle fleet enroll`, with a directory for each board, and the password file of the broker.
struct EnrolmentFiles {
    private let root: String
    let passwordFile: String

    /// The longest password file, bytes: several times what all boards of a fleet need.
    private static let maximumBytes = 64 << 20

    /// Names that boards cannot have, because the directory contains something else of this name.
    static let reservedNames = ["passwords"]

    /// `passwordFile` is by default in the directory.
    init(_ path: String, passwordFile: String? = nil) {
        root = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        self.passwordFile = passwordFile ?? "\(root)/passwords"
    }

    func directory(of id: String) -> String { "\(root)/\(id)" }

    // MARK: Passwords

    /// The users of the broker; none if there is no password file.
    ///
    /// - Throws: status 66 if it cannot be read, 65 if it is too long.
    func passwords() throws(CommandFailure) -> MosquittoPasswords {
        let bytes: [UInt8]
        do throws(SystemFailure) {
            bytes = try FileContents.bytes(of: passwordFile, limit: EnrolmentFiles.maximumBytes + 1)
        } catch {
            guard error == SystemFailure(code: ENOENT) else {
                throw CommandFailure(.noInput, "\(passwordFile): \(error)")
            }
            return MosquittoPasswords("")
        }
        guard bytes.count <= EnrolmentFiles.maximumBytes else {
            throw CommandFailure(.badData, "\(passwordFile): is longer than \(EnrolmentFiles.maximumBytes) bytes")
        }
        return MosquittoPasswords(String(decoding: bytes, as: UTF8.self))
    }

    /// Reads the password file, changes it and writes it. A lock keeps others out meanwhile.
    ///
    /// - Throws: status 73 if the file cannot be locked or written, and what `change` throws.
    private func changePasswords(
        _ change: (inout MosquittoPasswords) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        // The lock is not on the file itself, which is replaced.
        let path = "\(passwordFile).lock"
        let lock = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw CommandFailure(.cannotCreate, "\(path): \(SystemFailure(code: errno))") }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw CommandFailure(.cannotCreate, "\(path): \(SystemFailure(code: errno))") }
        }
        var passwords = try passwords()
        try change(&passwords)
        try write(Array(passwords.text.utf8), to: passwordFile)
    }

    // MARK: Boards

    /// Writes the files of a board, and then its user.
    ///
    /// - Throws: status 73 if there is such a user and it must not be replaced, or if a file cannot be written.
    func add(_ board: BoardEnrolment, replacesUser: Bool) throws(CommandFailure) {
        let directory = directory(of: board.id)
        try makeSecretDirectory(root)
        try makeSecretDirectory(directory)
        try changePasswords { passwords throws(CommandFailure) in
            guard replacesUser || !passwords.has(board.id) else { throw EnrolmentFiles.isEnrolled(board.id) }
            guard passwords.set(board.id, password: board.password) else {
                throw CommandFailure(.system, "OpenSSL has no SHA-512")
            }
            var contents = [
                ("jostle.yaml", Array(board.configText.utf8)), ("password", Array("\(board.password)\n".utf8)),
                ("user-data", Array(board.userData.utf8)), ("meta-data", Array(board.metaData.utf8)),
                ("\(board.id).tar", board.archive(at: time(nil))),
            ]
            if let authority = board.authority { contents.append(("ca.pem", authority)) }
            for (name, bytes) in contents { try write(bytes, to: "\(directory)/\(name)") }
        }
    }

    /// Why a board is not enrolled again.
    static func isEnrolled(_ id: String) -> CommandFailure {
        CommandFailure(
            .cannotCreate, "\(id) is enrolled already; jostle fleet enroll \(id) --force gives it a new password")
    }

    /// Takes the user away, and deletes the files of the board.
    ///
    /// - Throws: status 69 if there is no such user, 73 if the password file cannot be written.
    func remove(_ id: String) throws(CommandFailure) {
        // Before the lock, whose file would make an empty directory look like an enrolment.
        guard try passwords().has(id) else { throw hasNoUser(id) }
        try changePasswords { passwords throws(CommandFailure) in
            guard passwords.has(id) else { throw hasNoUser(id) }
            passwords.remove(id)
        }
        FileContents.removeDirectory(directory(of: id))
    }

    func hasNoUser(_ id: String) -> CommandFailure {
        CommandFailure(.unavailable, "\(passwordFile) has no user \(id)")
    }

    private func makeSecretDirectory(_ path: String) throws(CommandFailure) {
        guard !DirectoryContents.exists(path) else { return }
        FileContents.makeDirectories(path)
        guard chmod(path, 0o700) == 0 else {
            throw CommandFailure(.cannotCreate, "\(path): \(SystemFailure(code: errno))")
        }
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
