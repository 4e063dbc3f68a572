internal import StateStorage

/// How Home Assistant knows the board: a text in the ids of its device and its entities, which a new `device.id` does not change.
///
/// It is the board's first id, with six digits of the board's serial number, because another board may have that id later.
/// It is saved, so that a board with other hardware and the same id stays the same device. A board with other hardware *and*
/// another id has a copied memory card, and is another device.
struct BoardIdentity: Equatable, Sendable {
    static let file = StateFile.identity
    private static let title = "jostle identity 1"

    private(set) var text: String
    /// The id from which the board takes the identity over: to be `settled` when nothing of Home Assistant is left there.
    private(set) var former: String?
    private let id: String
    private let hardware: String
    /// The contents of the file, including those about to be written.
    private var saved: String?

    /// The identity of a board with this id for the first time.
    init(id: String, hardware: String) {
        self.id = id
        self.hardware = hardware
        text = hardware.isEmpty ? id : "\(id)_\(hardware)"
    }

    /// Reads the file. Without one, a board that has announced itself under an id has that as its identity, as all boards had
    /// before there was a file.
    init(id: String, hardware: String, in directory: StateDirectory, announced: Set<String>) {
        self.init(id: id, hardware: hardware)
        var identity = (text: text, id: id)
        if case .text(let file) = directory.read(BoardIdentity.file.rawValue, limit: 4096) {
            saved = file
            let lines = file.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if lines.count >= 4, lines[0] == BoardIdentity.title, !lines[1].isEmpty,
                lines[2] == id || lines[3] == hardware
            {
                identity = (lines[1], lines[2])
            }
        } else {
            let ids = Set(announced.compactMap { DiscoveryMessage.device(ofTopic: $0)?.id })
            if let former = ids.contains(id) ? id : ids.count == 1 ? ids.first : nil { identity = (former, former) }
        }
        text = identity.text
        former = identity.id == id ? nil : identity.id
    }

    /// Becomes another device for Home Assistant: what it has under the former id is another board's, or cannot be removed.
    mutating func renew() {
        text = BoardIdentity(id: id, hardware: hardware).text
        former = nil
    }

    /// Nothing is left under the former id. Returns the file's new contents; `nil` if nothing changed.
    mutating func settle() -> [UInt8]? {
        former = nil
        let contents = [BoardIdentity.title, text, id, hardware, ""].joined(separator: "\n")
        guard contents != saved else { return nil }
        saved = contents
        return Array(contents.utf8)
    }
}
