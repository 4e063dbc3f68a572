import MosquittoClient
import Testing

@testable import JostleAgent

/// Requirement: the health report names a filter for as long as a message that is too large keeps it out.
@Suite struct ConnectionFaultsTests {
    private typealias Event = MQTTEvent

    private let reason = MQTTOmission.messageTooLarge(topic: "do/it")

    /// Whether each of the events changes the faults.
    private func changes(_ faults: inout ConnectionFaults, _ events: [Event]) -> [Bool] {
        events.map { faults.handle($0) }
    }

    @Test func namesFiltersUntilTheyAreOfUseAgain() {
        var faults = ConnectionFaults()
        let appearing = changes(
            &faults,
            [
                .subscriptionLeftOut(filter: "do/it", reason), .subscriptionLeftOut(filter: "do/it", reason),
                .subscriptionLeftOut(filter: "do/+", reason), .subscriptionLeftOut(filter: "optional", .noAnswer),
            ])
        #expect(appearing == [true, false, true, false])
        #expect(
            faults.phrases == [
                "not subscribed to do/+: a message to do/it is larger than this client takes",
                "not subscribed to do/it: a message to do/it is larger than this client takes",
            ])
        let disappearing = changes(
            &faults,
            [
                .subscribed(filter: "do/it", qos: .atLeastOnce), .subscriptionRestored(filter: "do/it"),
                .subscriptionRestored(filter: "do/it"), .subscriptionRefused(filter: "do/+", .notAuthorised),
            ])
        // The message comes after the answer.
        #expect(disappearing == [false, true, false, true] && faults.phrases.isEmpty)
    }

    @Test func forgetsFiltersThatAreNoLongerWanted() {
        var faults = ConnectionFaults()
        _ = faults.handle(Event.subscriptionLeftOut(filter: "do/it", reason))
        faults.remove("do/it")
        #expect(faults.phrases.isEmpty)
    }
}
