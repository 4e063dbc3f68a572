internal import JostleCommandLine
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// Stores calibrations and reference attitudes, after asking the user.
struct CalibrationStorage {
    private let calibrations: CalibrationStore
    private let references: ReferenceStore
    private let directory: String
    /// The name under which the chip's calibration is stored.
    private let name: String
    private let storesWithoutAsking: Bool
    private let dialogue: Dialogue

    init(stateDirectory: String, name: String, storesWithoutAsking: Bool, dialogue: Dialogue) {
        calibrations = CalibrationStore(stateDirectory: stateDirectory)
        references = ReferenceStore(stateDirectory: stateDirectory)
        directory = stateDirectory
        self.name = name
        self.storesWithoutAsking = storesWithoutAsking
        self.dialogue = dialogue
    }

    /// The chip's stored calibration; an empty one, with a message, if the file cannot be used.
    func load() -> StoredCalibration {
        do {
            return try calibrations.load(name) ?? StoredCalibration()
        } catch {
            dialogue.say("\(error)")
            return StoredCalibration()
        }
    }

    /// The stored reference attitude; `nil` if there is none.
    var reference: Quaternion? { references.load() }

    /// Stores a calibration if the user agrees.
    func store(_ calibration: StoredCalibration) throws {
        guard try shouldStore() else { return }
        try Failure.with(.cannotCreate) { try calibrations.save(calibration, as: name) }
        dialogue.say("Stored in \(calibrations.path(of: name)); used from the next start.")
    }

    /// Stores a reference attitude if the user agrees.
    ///
    /// - Returns: whether it was stored.
    func store(reference: Quaternion) throws -> Bool {
        guard try shouldStore() else { return false }
        try Failure.with(.cannotCreate) { try references.save(reference) }
        dialogue.say("Stored in \(directory); used from the next start.")
        return true
    }

    private func shouldStore() throws -> Bool {
        if storesWithoutAsking { return true }
        guard dialogue.isInteractive else {
            dialogue.say("Not stored: there is no terminal for confirmation, and --yes was not given.")
            return false
        }
        let isConfirmed = try dialogue.ask("Store this?")
        if !isConfirmed { dialogue.say("Not stored: nothing was changed.") }
        return isConfirmed
    }
}
