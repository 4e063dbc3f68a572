import Testing

@testable import jostle

/// Requirement: a newcomer sees how to open the page of a demonstration, also on a machine that is reached over SSH.
@Suite struct PageInvitationTests {
    private static let address = "http://127.0.0.1:8088/?token=0123456789abcdef01234567"

    private func invitation(_ connection: String?, user: String? = "pi") -> PageInvitation {
        PageInvitation(address: Self.address, connection: connection, user: user)
    }

    @Test func isForABrowserOnThisMachine() {
        let steps = invitation(nil).steps
        #expect(steps.count == 1 && steps[0].text == Self.address && steps[0].title.contains("on this machine"))
    }

    @Test func forwardsThePortOverSSH() {
        let steps = invitation("192.168.1.7 50122 192.168.1.20 22").steps
        #expect(steps.map(\.text) == ["ssh -L 8088:127.0.0.1:8088 pi@192.168.1.20", Self.address])
        #expect(steps[0].title.contains("own computer"))
        #expect(invitation("::1 50122 fe80::1 2222", user: nil).tunnel == "ssh -p 2222 -L 8088:127.0.0.1:8088 fe80::1")
    }

    /// The command is meant to be pasted into a shell.
    @Test(arguments: ["", "a b c", "192.168.1.7 50122 $(reboot) 22", "192.168.1.7 50122 pi;reboot 22", "1 2 ::1 x"])
    func neverRepeatsWhatIsNoAddress(connection: String) {
        #expect(invitation(connection).tunnel == nil)
    }
}
