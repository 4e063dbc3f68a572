internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionCore

/// The configuration file into which a value is written.
struct TuningTarget {
    let path: String

    /// Writes the value of a key; the rest of the file, with its comments, does not change.
    ///
    /// - Throws: status 77 or 73 if the file cannot be written, 78 if its layout does not allow it; the file is then
    ///   unchanged.
    func write(_ value: String, key: String) throws(CommandFailure) {
        // Resolve a symbolic link, so that the file is replaced and not the link.
        let file = realpath(path, nil).map { pointer in
            defer { free(pointer) }
            return String(cString: pointer)
        }
        let target = file ?? path
        var text = ""
        do throws(SystemFailure) {
            text = try FileContents.text(of: target, limit: ReaderLimits().bytes + 1, mayBePipe: true)
        } catch  where error.code == ENOENT {
            text = ""
        } catch {
            throw CommandFailure(.noInput, "\(path): \(error)")
        }
        var edited = ""
        do throws(ConfigurationProblem) {
            edited = try ConfigurationEdit.set(key, to: value, in: text, source: .file(path))
        } catch {
            throw CommandFailure(.configuration, "\(error)")
        }
        do throws(SystemFailure) {
            try FileContents.replace(target, with: Array(edited.utf8))
        } catch {
            let status: ExitStatus = error.code == EACCES || error.code == EPERM ? .permission : .cannotCreate
            throw CommandFailure(
                status, "\(path) cannot be written: \(error); set \(key) to \(value) there by hand")
        }
    }
}
