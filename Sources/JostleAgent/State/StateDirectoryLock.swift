package import LinuxSensors
internal import LinuxSystem

/// Keeps a second agent out of a state directory: they would replace each other's files, and send events twice.
///
/// The lock ends with the agent. A state directory whose disk is full, broken or read-only cannot be locked for the first
/// time; the agent runs nevertheless, as it does without all other state.
package final class StateDirectoryLock {
    private let lock: FileLock

    private init(_ lock: consuming FileLock) {
        self.lock = lock
    }

    /// Locks a directory, which is created if it does not exist.
    ///
    /// - Parameters:
    ///   - directory: its path.
    ///   - warn: gets the reason if the directory cannot be locked although no other agent uses it.
    /// - Returns: the lock; `nil` after a warning.
    /// - Throws: `stateInUse` with the agent that uses it.
    static func acquire(_ directory: String, warn: (String) -> Void) throws(AgentError) -> StateDirectoryLock? {
        FileContents.makeDirectories(directory)
        do throws(FileLock.Failure) {
            return StateDirectoryLock(try FileLock.acquire(path(in: directory)))
        } catch {
            switch error {
            case .inUse(let holder): throw .stateInUse(directory: directory, holder)
            case .system(let failure):
                warn(
                    "cannot lock \(path(in: directory)): \(failure); nothing keeps a second agent out of this directory"
                )
                return nil
            }
        }
    }

    /// The agent that uses a directory; `nil` if none does, or if the directory cannot be read.
    package static func holder(of directory: String) -> ChipLock.Holder? {
        FileLock.holder(of: path(in: directory))
    }

    private static func path(in directory: String) -> String { "\(directory)/agent.lock" }
}
