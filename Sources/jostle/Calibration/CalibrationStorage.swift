internal import MotionCore
internal import MotionKit

/// Where what was found goes, and whether it does.
struct CalibrationStorage {
    private let calibrations: CalibrationStore
    private let references: ReferenceStore
    private let directory: String
    /// The name under which the chip is known.
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

    /// What is known of the chip; nothing where the file cannot be used, which is said.
    func load() -> StoredCalibration {
        do throws(CalibrationStoreError) {
            return try calibrations.load(name) ?? StoredCalibration()
        } catch {
            dialogue.say("\(error)")
            return StoredCalibration()
        }
    }

    /// The reference attitude that is stored, where there is one.
    var reference: Quaternion? { references.load() }

    /// Stores a calibration where that is wanted.
    func store(_ calibration: StoredCalibration) throws(CommandFailure) {
        guard try isWanted() else { return }
        do throws(CalibrationStoreError) {
            try calibrations.save(calibration, as: name)
        } catch {
            throw CommandFailure(.cannotCreate, "\(error)")
        }
        dialogue.say("Stored in \(calibrations.path(of: name)); used from the next start on.")
    }

    /// Stores a reference attitude where that is wanted.
    ///
    /// - Returns: whether it was.
    func store(reference: Quaternion) throws(CommandFailure) -> Bool {
        guard try isWanted() else { return false }
        do throws(ReferenceStoreError) {
            try references.save(reference)
        } catch {
            throw CommandFailure(.cannotCreate, "\(error)")
        }
        dialogue.say("Stored in \(directory); used from the next start on.")
        return true
    }

    private func isWanted() throws(CommandFailure) -> Bool {
        if storesWithoutAsking { return true }
        guard dialogue.isInteractive else {
            dialogue.say("Not stored: nobody can be asked here, and --yes was not given.")
            return false
        }
        let isWanted = try dialogue.ask("Store this?")
        if !isWanted { dialogue.say("Not stored: everything is as it was.") }
        return isWanted
    }
}
