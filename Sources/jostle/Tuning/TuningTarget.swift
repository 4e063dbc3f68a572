internal import Glibc
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionCore

/// The configuration file that a sensitivity is written to.
struct TuningTarget {
    /// The file's path.
    let path: String

    /// Writes a gesture's sensitivity; everything else in the file stays, comments too.
    ///
    /// - Throws: status 77 or 73 where the file cannot be written, 78 where its layout does not allow it; the file is as
    ///   it was.
    func write(_ sensitivity: Int, key: String) throws(CommandFailure) {
        // Where the path is a link, the file behind it is meant.
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
            edited = try ConfigurationEdit.set(key, to: "\(sensitivity)", in: text, source: .file(path))
        } catch {
            throw CommandFailure(.configuration, "\(error)")
        }
        do throws(SystemFailure) {
            try FileContents.replace(target, with: Array(edited.utf8))
        } catch {
            let status: ExitStatus = error.code == EACCES || error.code == EPERM ? .permission : .cannotCreate
            throw CommandFailure(
                status, "\(path) cannot be written: \(error); set \(key) to \(sensitivity) there by hand")
        }
    }
}
