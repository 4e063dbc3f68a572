import BrokerTestSupport
import StateStorage
import Testing

@testable import JostleAgent

/// Requirement: Home Assistant knows a board again after a new id, and takes no two boards for one.
@Suite struct BoardIdentityTests {
    private let directory = TemporaryDirectory.new()

    private func identity(_ id: String, hardware: String = "12ab34", announced: Set<String> = []) -> BoardIdentity {
        BoardIdentity(id: id, hardware: hardware, in: StateDirectory(path: directory.path), announced: announced)
    }

    private func topic(_ id: String) -> String { "homeassistant/sensor/\(id)/roll/config" }

    @Test func newBoardHasIDAndDigitsOfItsHardware() {
        #expect(identity("hall").text == "hall_12ab34" && identity("hall").former == nil)
        #expect(identity("hall", hardware: "").text == "hall")
    }

    @Test("A board from before there was a file keeps its id as its identity, also if it changes its id now")
    func takesOverAnnouncedID() {
        #expect(identity("hall", announced: [topic("hall"), topic("old")]).text == "hall")
        let renamed = identity("hall", announced: [topic("kitchen")])
        #expect(renamed.text == "kitchen" && renamed.former == "kitchen")
        #expect(identity("hall", announced: [topic("a"), topic("b")]).text == "hall_12ab34")
    }

    @Test("What is saved outlives a new id and new hardware, but not both: that is a copied memory card")
    func readsFile() throws {
        try directory.write("jostle identity 1\nkitchen_12ab34\nkitchen\n12ab34\n", to: "identity")
        for (id, hardware, text, former) in [
            ("kitchen", "12ab34", "kitchen_12ab34", nil), ("kitchen", "56cd78", "kitchen_12ab34", nil),
            ("hall", "12ab34", "kitchen_12ab34", "kitchen"), ("hall", "56cd78", "hall_56cd78", nil),
        ] as [(String, String, String, String?)] {
            let present = identity(id, hardware: hardware)
            #expect(present.text == text && present.former == former, "\(id) \(hardware)")
        }
    }

    @Test(arguments: [
        "", "jostle identity 2\na\nb\nc\n", "jostle identity 1\n\nhall\n12ab34\n", "jostle identity 1\nhall",
    ])
    func damagedFileIsReplaced(text: String) throws {
        try directory.write(text, to: "identity")
        var present = identity("hall")
        #expect(present.text == "hall_12ab34")
        #expect(
            present.settle().map { String(decoding: $0, as: UTF8.self) }
                == "jostle identity 1\nhall_12ab34\nhall\n12ab34\n")
        #expect(present.settle() == nil)
    }
}
