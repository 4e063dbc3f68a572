internal import LinuxSystem

/// The calibrations of all chips, a text file each in the directory `calibration` of a state directory.
///
/// Every file is replaced whole, so that a power cut leaves the old one or the new one.
public struct CalibrationStore: Sendable {
    private let directory: StateDirectory

    /// The calibrations in a state directory, which need not exist yet.
    public init(stateDirectory: String) {
        directory = StateDirectory(path: stateDirectory + "/calibration")
    }

    /// The file of the chip whose device has this `storageName`, whether it exists or not.
    public func path(of name: String) -> String { "\(directory.path)/\(CalibrationStore.file(name))" }

    /// The calibration of a chip, or `nil` where none is kept.
    ///
    /// - Throws: why the file that is there cannot be used.
    public func load(_ name: String) throws(CalibrationStoreError) -> StoredCalibration? {
        let text: String
        switch directory.read(CalibrationStore.file(name)) {
        case .none: return nil
        case .failed(let code): throw CalibrationStoreError.unreadable(path: path(of: name), code: code)
        case .text(let found): text = found
        }
        do throws(CalibrationText.Failure) {
            return try CalibrationText.read(text)
        } catch {
            switch error {
            case .version(let found): throw CalibrationStoreError.unknownVersion(path: path(of: name), found: found)
            case .damaged: throw CalibrationStoreError.damaged(path: path(of: name))
            }
        }
    }

    /// Keeps the calibration of a chip.
    ///
    /// - Throws: `notWritten`; the old file is then still there.
    public func save(_ calibration: StoredCalibration, as name: String) throws(CalibrationStoreError) {
        let code = directory.write(CalibrationText.written(calibration), to: CalibrationStore.file(name))
        guard code == 0 else { throw CalibrationStoreError.notWritten(path: path(of: name), code: code) }
    }

    /// Forgets the calibration of a chip.
    ///
    /// - Throws: `notWritten` where the file cannot be taken away.
    public func remove(_ name: String) throws(CalibrationStoreError) {
        let code = directory.remove(CalibrationStore.file(name))
        guard code == 0 else { throw CalibrationStoreError.notWritten(path: path(of: name), code: code) }
    }

    /// A device of a program's own may be called anything: what is no letter, digit or hyphen becomes a hyphen.
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

/// Why a calibration cannot be loaded, kept or put in force.
public enum CalibrationStoreError: Error, Equatable, Sendable {
    /// The file is there and cannot be read; the errno.
    case unreadable(path: String, code: Int32)
    /// The file was written by another version of the program.
    case unknownVersion(path: String, found: String)
    /// The file is torn, or no calibration.
    case damaged(path: String)
    /// The file cannot be written or taken away; the errno.
    case notWritten(path: String, code: Int32)
    /// Nothing runs, so it is not known which chip is meant.
    case notRunning
}

extension CalibrationStoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let path, let code): "\(path): cannot be read: \(systemMessage(code))"
        case .unknownVersion(let path, let found):
            "\(path): version \"\(found)\" of a calibration is not known and is ignored; calibrate again"
        case .damaged(let path): "\(path): is no whole calibration and is ignored; calibrate again"
        case .notWritten(let path, let code): "\(path): cannot be written: \(systemMessage(code))"
        case .notRunning: "no sensor is open, so it is not known which chip is meant"
        }
    }
}
