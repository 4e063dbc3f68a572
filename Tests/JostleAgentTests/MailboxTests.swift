import LinuxSystem
import Testing

@testable import JostleAgent

/// Requirement: no sender can fill the mailbox, and discarded events are counted.
@Suite struct MailboxTests {
    private enum Event: MailboxEvent, Equatable {
        case essential(Int)
        case external(Int, bytes: Int)
        case gesture(Int)
        case newest(Int)

        var kind: MailboxKind {
            switch self {
            case .essential: .essential
            case .external(_, let bytes): .external(bytes: bytes)
            case .gesture: .gesture
            case .newest: .newest
            }
        }
    }

    private func mailbox() throws -> Mailbox<Event> {
        var limits = Mailbox<Event>.Limits()
        limits.externalCount = 3
        limits.externalBytes = 100
        limits.gestures = 2
        return Mailbox(wake: try #require(WakeSignal()), limits: limits)
    }

    @Test func deliversEventsOnceInOrder() throws {
        let mailbox = try mailbox()
        let events = [Event.essential(1), .gesture(1), .external(1, bytes: 1), .newest(1), .essential(2)]
        #expect(!mailbox.wake.isSignalled(within: 0))
        for event in events { mailbox.post(event) }
        #expect(mailbox.wake.isSignalled(within: 0) && mailbox.takeAll().events == events)
        #expect(mailbox.takeAll().events.isEmpty)
    }

    @Test func eventsThatDoNotWakeWaitForOneThatDoes() throws {
        let mailbox = try mailbox()
        mailbox.post(.newest(1), wakes: false)
        mailbox.post(.newest(2), wakes: false)
        #expect(!mailbox.wake.isSignalled(within: 0))
        mailbox.post(.newest(3))
        #expect(mailbox.wake.isSignalled(within: 0) && mailbox.takeAll().events == [.newest(3)])
    }

    @Test func limitsExternalMessagesSeparately() throws {
        let mailbox = try mailbox()
        for number in 1...10 { mailbox.post(.external(number, bytes: 10)) }
        mailbox.post(.essential(1))
        mailbox.post(.gesture(1))
        let (events, losses) = mailbox.takeAll()
        let expected: [Event] = [
            .external(1, bytes: 10), .external(2, bytes: 10), .external(3, bytes: 10), .essential(1), .gesture(1),
        ]
        #expect(events == expected && losses == Mailbox<Event>.Losses(external: 7, gestures: 0))
        mailbox.post(.external(1, bytes: 99))
        mailbox.post(.external(2, bytes: 2))
        #expect(mailbox.takeAll().losses.external == 1, "bytes are limited too, and takeAll empties the mailbox")
    }

    @Test func countsGesturesBeyondLimit() throws {
        let mailbox = try mailbox()
        for number in 1...5 { mailbox.post(.gesture(number)) }
        let (events, losses) = mailbox.takeAll()
        #expect(events == [.gesture(1), .gesture(2)] && losses.gestures == 3)
    }

    @Test func keepsOnlyNewestState() throws {
        let mailbox = try mailbox()
        for event in [Event.newest(1), .essential(1), .newest(2), .newest(3)] { mailbox.post(event) }
        #expect(mailbox.takeAll().events == [.newest(3), .essential(1)])
        mailbox.post(.newest(4))
        #expect(mailbox.takeAll().events == [.newest(4)])
    }
}
