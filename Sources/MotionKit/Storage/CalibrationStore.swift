public import LinuxSystem
package import StateStorage

/// The calibrations of all chips: one text file per chip, in the directory `calibration` of a state directory.
///
/// Files are replaced atomically: a power cut leaves the old one or the new one.
package struct CalibrationStore: Sendable {
    private let directory: StateDirectory

    /// The calibrations in a state directory, which need not exist yet.
    package init(stateDirectory: String) {
        directory = StateDirectory(path: stateDirectory + "/calibration")
    }

    /// The file of the chip whose device has this `storageName`, whether it exists or not.
    package func path(of name: String) -> String { "\(directory.path)/\(CalibrationStore.file(name))" }

    /// The calibration of a chip, or `nil` if none is stored. A change that `writer` has not written yet takes precedence.
    ///
    /// - Throws: why the existing file cannot be used.
    package func load(
        _ name: String, pendingIn writer: StateWriter? = nil
    ) throws(CalibrationStoreError) -> StoredCalibration? {
        let text: String
        switch directory.read(CalibrationStore.file(name), pendingIn: writer) {
        case .none: return nil
        case .failed(let failure): throw CalibrationStoreError.unreadable(path: path(of: name), failure)
        case .text(let found): text = found
        }
        do {
            return try CalibrationText.read(text)
        } catch {
            switch error {
            case .version(let found): throw CalibrationStoreError.unknownVersion(path: path(of: name), found: found)
            case .damaged: throw CalibrationStoreError.damaged(path: path(of: name))
            }
        }
    }

    /// Saves the calibration of a chip, and returns once it is on the disk.
    ///
    /// - Throws: `notWritten`; the old file then remains.
    package func save(_ calibration: StoredCalibration, as name: String) throws(CalibrationStoreError) {
        do {
            try directory.write(CalibrationText.written(calibration), to: CalibrationStore.file(name))
        } catch {
            throw CalibrationStoreError.notWritten(path: path(of: name), error)
        }
    }

    /// Removes the calibration of a chip.
    ///
    /// - Throws: `notWritten` if the file cannot be removed.
    package func remove(_ name: String) throws(CalibrationStoreError) {
        do {
            try directory.remove(CalibrationStore.file(name))
        } catch {
            throw CalibrationStoreError.notWritten(path: path(of: name), error)
        }
    }

    /// The content of a calibration's file; `nil` if the calibration is empty and must not have a file.
    func contents(of calibration: StoredCalibration) -> [UInt8]? {
        calibration.isEmpty ? nil : Array(CalibrationText.written(calibration).utf8)
    }

    /// The file name. A program's own device may have any name: anything but ASCII letters, digits, hyphens and underscores
    /// becomes a hyphen.
    private static func file(_ name: String) -> String {
        let kept = name.unicodeScalars.prefix(100).map { scalar -> Character in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-", "_": Character(scalar)
            default: "-"
            }
        }
        return String(kept) + ".txt"
    }
}

/// Why a calibration cannot be loaded, saved or used.
public enum CalibrationStoreError: Error, Equatable, Sendable {
    /// The file exists but cannot be read.
    case unreadable(path: String, SystemFailure)
    /// The file was written by another version of the program.
    case unknownVersion(path: String, found: String)
    /// The file is incomplete, or not a calibration.
    case damaged(path: String)
    /// The file cannot be written or removed.
    case notWritten(path: String, SystemFailure)
    /// No sensor is running, so the chip is unknown.
    case notRunning
}

extension CalibrationStoreError: CustomStringConvertible {
    /// What is wrong, and what to do about it.
    public var description: String {
        switch self {
        case .unreadable(let path, let failure): "\(path): cannot be read: \(failure)"
        case .unknownVersion(let path, let found):
            "\(path): the calibration has the unknown version \"\(found)\" and is ignored; calibrate again"
        case .damaged(let path): "\(path): the calibration is damaged and is ignored; calibrate again"
        case .notWritten(let path, let failure): "\(path): cannot be written: \(failure)"
        case .notRunning: "no sensor is open, so the chip is unknown"
        }
    }
}
