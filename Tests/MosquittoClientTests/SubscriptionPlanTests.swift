import Testing

@testable import MosquittoClient

/// Requirement: one refused filter takes no other with it, and an optional one never causes a reconnect loop.
@Suite final class SubscriptionPlanTests {
    private lazy var plan = makePlan()
    private let now = ContinuousClock.now

    /// A plan for the needed filters `a` and `b` and the optional `x` and `y`, connected.
    private func makePlan() -> SubscriptionPlan {
        var plan = SubscriptionPlan()
        for filter in ["y", "b", "x", "a"] { plan.change(subscribe(filter)) }
        #expect(!plan.hasChanges && sent(&plan).isEmpty, "nothing is sent without a connection")
        plan.connected()
        return plan
    }

    private func subscribe(_ filter: String) -> SubscriptionChange {
        .subscribe(filter, MQTTSubscription(qos: .atLeastOnce, isOptional: ["x", "y"].contains(filter)))
    }

    private func sent(_ plan: inout SubscriptionPlan) -> [String] {
        plan.takeChanges().map { change in
            switch change {
            case .subscribe(let filter, _): filter
            case .unsubscribe(let filter): "-" + filter
            }
        }
    }

    /// Takes what is to be sent, and answers it.
    private func answerAll(_ plan: inout SubscriptionPlan) -> [String] {
        let filters = sent(&plan)
        for filter in filters { plan.answered(filter, at: now) }
        return filters
    }

    @Test func requestsEverythingAtOnce() {
        #expect(plan.hasChanges && sent(&plan) == ["a", "b", "x", "y"])
        #expect(!plan.hasChanges && sent(&plan).isEmpty)
        for filter in ["b", "y", "a", "x"] { plan.answered(filter, at: now) }
        #expect(!plan.hasChanges && plan.leftOut.isEmpty && plan.nextRequest == nil)
    }

    @Test func repeatsRequestForSubscribedFilter() {
        #expect(answerAll(&plan) == ["a", "b", "x", "y"])
        plan.change(subscribe("a"))
        plan.change(subscribe("x"))
        #expect(answerAll(&plan) == ["a", "x"])
        plan.change(.unsubscribe("b"))
        plan.change(.unsubscribe("y"))
        #expect(sent(&plan) == ["-b", "-y"])
        #expect(plan.ended(isByBroker: true, wasStable: true) == nil)
        plan.connected()
        #expect(sent(&plan) == ["a", "x"])
    }

    /// A retained message that is too large would end every connection.
    @Test func leavesOutFiltersOfTooLargeMessages() {
        _ = answerAll(&plan)
        plan.change(subscribe("a/#"))
        _ = answerAll(&plan)
        plan.receivedTooLarge(topic: "a", at: now)
        #expect(plan.ended(isByBroker: false, wasStable: false) == nil)
        plan.connected()
        #expect(plan.leftOut == ["a", "a/#"] && plan.nextRequest == 1)
        #expect(answerAll(&plan) == ["b", "x", "y"])
        let reasons = plan.takeLeftOut()
        #expect(reasons.map(\.filter) == ["a", "a/#"])
        #expect(reasons.allSatisfy { $0.reason == .messageTooLarge(topic: "a") })

        // Requested again one after another, and one still ends the connection: the next time, it is requested later.
        for time in [1, 6, 36, 360, 360] {
            plan.connectionHasLasted(time - 1)
            #expect(sent(&plan).isEmpty && plan.nextRequest == min(time, 360))
            plan.connectionHasLasted(time)
            #expect(sent(&plan) == ["a"])
            plan.answered("a", at: now)
            #expect(sent(&plan).isEmpty, "the message may come after the answer")
            plan.receivedTooLarge(topic: "a", at: now)
            #expect(plan.ended(isByBroker: false, wasStable: true) == nil)
            plan.connected()
            #expect(plan.leftOut == ["a", "a/#"])
            #expect(answerAll(&plan) == ["b", "x", "y"])
        }

        // A connection that ends too early changes nothing.
        #expect(plan.ended(isByBroker: true, wasStable: true) == nil)
        plan.connected()
        #expect(plan.leftOut == ["a", "a/#"] && answerAll(&plan) == ["b", "x", "y"] && plan.nextRequest == 360)

        // The message is gone.
        plan.connectionHasLasted(360)
        #expect(answerAll(&plan) == ["a"])
        plan.handleDeadline(at: now + .seconds(1))
        #expect(answerAll(&plan) == ["a/#"] && plan.leftOut.isEmpty && plan.takeRestored().isEmpty)
        plan.handleDeadline(at: now + .seconds(10))
        #expect(plan.takeRestored() == ["a", "a/#"] && plan.takeRestored().isEmpty && plan.nextDeadline == nil)

        // Another one, much later: the pauses start over.
        plan.receivedTooLarge(topic: "a", at: now)
        #expect(plan.ended(isByBroker: false, wasStable: true) == nil)
        plan.connected()
        #expect(plan.leftOut == ["a", "a/#"] && plan.nextRequest == 1)
        _ = answerAll(&plan)
        plan.connectionHasLasted(1)
        #expect(answerAll(&plan) == ["a"])
        plan.handleDeadline(at: now + .seconds(1))
        #expect(answerAll(&plan) == ["a/#"])
        plan.handleDeadline(at: now + .seconds(10))
        #expect(plan.ended(isByBroker: true, wasStable: true) == nil)
        _ = plan.takeLeftOut()
        plan.connected()
        #expect(answerAll(&plan) == ["a", "a/#", "b", "x", "y"] && plan.takeLeftOut().isEmpty)
    }

    /// The topic is longer than what is read of it, or matches no filter.
    @Test(arguments: [nil, "elsewhere"] as [String?])
    func findsFilterOfTooLargeMessage(topic: String?) {
        #expect(answerAll(&plan) == ["a", "b", "x", "y"])
        plan.receivedTooLarge(topic: topic, at: now)
        #expect(plan.ended(isByBroker: false, wasStable: false) == nil)
        plan.connected()
        #expect(plan.leftOut.isEmpty)
        #expect(answerAll(&plan) == ["a"] && answerAll(&plan).isEmpty && plan.nextDeadline == now + .seconds(1))
        plan.handleDeadline(at: now + .seconds(1))
        #expect(answerAll(&plan) == ["b"])
        plan.receivedTooLarge(topic: topic, at: now)
        #expect(plan.ended(isByBroker: false, wasStable: false) == nil)

        plan.connected()
        #expect(plan.leftOut == ["b"] && plan.nextRequest == 1 && answerAll(&plan) == ["a", "x", "y"])
        let leftOut = plan.takeLeftOut()
        #expect(leftOut.map(\.filter) == ["b"] && leftOut.map(\.reason) == [.messageTooLarge(topic: topic)])
        // It still ends the connection: the next time, it is requested later.
        plan.connectionHasLasted(1)
        #expect(answerAll(&plan) == ["b"])
        plan.receivedTooLarge(topic: topic, at: now)
        #expect(plan.ended(isByBroker: false, wasStable: true) == nil)
        plan.connected()
        #expect(plan.leftOut == ["b"] && plan.nextRequest == 6 && answerAll(&plan) == ["a", "x", "y"])
    }

    /// Some filters are subscribed at the start of each connection, for a moment.
    @Test func requestsFilterAgainThatIsSubscribedForAWhile() {
        _ = answerAll(&plan)
        plan.receivedTooLarge(topic: "a", at: now)
        _ = plan.ended(isByBroker: false, wasStable: false)
        plan.connected()
        plan.change(.unsubscribe("a"))
        #expect(answerAll(&plan).contains("b"))
        plan.connectionHasLasted(1)
        #expect(!plan.hasChanges && sent(&plan).isEmpty)
        _ = plan.ended(isByBroker: true, wasStable: true)
        plan.connected()
        _ = answerAll(&plan)
        plan.change(subscribe("a"))
        #expect(answerAll(&plan) == ["a"] && plan.takeLeftOut().isEmpty)
        plan.change(.unsubscribe("a"))
        plan.handleDeadline(at: now + .seconds(10))
        #expect(plan.takeRestored() == ["a"])
    }

    /// A filter that is subscribed for a moment, after a search among the others would have found nothing.
    @Test(arguments: [nil, "elsewhere"])
    func leavesOutTheOnlyFilterThatWasJustRequested(topic: String?) {
        _ = answerAll(&plan)
        let later = now + .seconds(1)
        plan.change(subscribe("c"))
        #expect(sent(&plan) == ["c"])
        plan.answered("c", at: later)
        plan.change(.unsubscribe("c"))
        plan.receivedTooLarge(topic: topic, at: later)
        #expect(plan.ended(isByBroker: false, wasStable: false) == nil)
        plan.connected()
        #expect(plan.leftOut == ["c"] && sent(&plan) == ["a", "b", "x", "y"])
    }

    /// The message was on its way when its filter was unsubscribed.
    @Test func leavesOutFilterThatWasUnsubscribed() {
        plan.change(subscribe("c/+"))
        _ = answerAll(&plan)
        plan.change(.unsubscribe("c/+"))
        plan.receivedTooLarge(topic: "c/1", at: now)
        #expect(plan.ended(isByBroker: false, wasStable: false) == nil)
        plan.connected()
        #expect(plan.leftOut == ["c/+"])
    }

    /// A filter that is refused is not of use again.
    @Test func refusedFilterIsNotRestored() {
        _ = answerAll(&plan)
        plan.receivedTooLarge(topic: "a", at: now)
        #expect(plan.ended(isByBroker: false, wasStable: false) == nil)
        plan.connected()
        #expect(answerAll(&plan) == ["b", "x", "y"])
        plan.connectionHasLasted(1)
        #expect(sent(&plan) == ["a"])
        plan.answered("a", isGranted: false, at: now)
        plan.handleDeadline(at: now + .seconds(10))
        #expect(plan.takeRestored().isEmpty && plan.ended(isByBroker: true, wasStable: true) == nil)
        plan.connected()
        #expect(plan.leftOut.isEmpty)
    }

    /// Several filters were unanswered: any of the optional ones may be the reason, so they are requested alone.
    @Test func requestsSuspectsAlone() {
        _ = sent(&plan)
        plan.answered("b", at: now)
        #expect(plan.ended(isByBroker: true, wasStable: false) == nil)
        plan.connected()
        #expect(sent(&plan) == ["a", "b"])
        plan.answered("b", at: now)
        #expect(!plan.hasChanges && sent(&plan).isEmpty)
        plan.answered("a", at: now)
        #expect(plan.hasChanges && sent(&plan) == ["x"])
        #expect(sent(&plan).isEmpty)
        plan.answered("x", at: now)
        #expect(answerAll(&plan) == ["y"])
        // Both were answered, so they are suspected no longer.
        #expect(plan.ended(isByBroker: true, wasStable: false) == nil && plan.leftOut.isEmpty)
        plan.connected()
        #expect(sent(&plan) == ["a", "b", "x", "y"])
    }

    /// A plan connected after the broker has answered the request for `x` by ending the connection.
    private func planWithoutX() -> SubscriptionPlan {
        for filter in sent(&plan) where filter != "x" { plan.answered(filter, at: now) }
        #expect(plan.ended(isByBroker: true, wasStable: false) == "x")
        #expect(plan.takeLeftOut().isEmpty)
        plan.connected()
        #expect(plan.takeLeftOut().map(\.filter) == ["x"] && plan.takeLeftOut().isEmpty && plan.leftOut == ["x"])
        #expect(answerAll(&plan) == ["a", "b", "y"])
        #expect(!plan.hasChanges && plan.nextRequest == 1)
        return plan
    }

    /// The broker may have ended the connection for another reason, such as a restart.
    @Test func requestsWhatWasLeftOutOnceMore() {
        var plan = planWithoutX()
        plan.connectionHasLasted(1)
        #expect(plan.nextRequest == nil && answerAll(&plan) == ["x"] && plan.leftOut.isEmpty)
        #expect(plan.ended(isByBroker: true, wasStable: true) == nil)
        plan.connected()
        #expect(sent(&plan) == ["a", "b", "x", "y"])
    }

    /// A broker that ends the connection at each request costs one connection in the life of a stable one.
    @Test func leavesOutFilterThatEndsConnectionsAgain() {
        var plan = planWithoutX()
        plan.connectionHasLasted(1)
        #expect(sent(&plan) == ["x"])
        #expect(plan.ended(isByBroker: true, wasStable: true) == "x")
        for wasStable in [false, true] {
            plan.connected()
            #expect(plan.leftOut == ["x"] && plan.nextRequest == nil)
            plan.connectionHasLasted(1)
            #expect(answerAll(&plan) == ["a", "b", "y"])
            #expect(plan.ended(isByBroker: true, wasStable: wasStable) == nil)
        }
        plan.connected()
        #expect(answerAll(&plan) == ["a", "b", "y"] && plan.nextRequest == 1)
    }

    @Test func leavesOutNothingForOtherReasons() {
        for filter in sent(&plan) where !["a", "x"].contains(filter) { plan.answered(filter, at: now) }
        #expect(plan.ended(isByBroker: true, wasStable: false) == nil, "a needed filter is unanswered")
        plan.connected()
        for filter in sent(&plan) { plan.answered(filter, at: now) }
        #expect(sent(&plan) == ["x"])
        #expect(plan.ended(isByBroker: false, wasStable: false) == nil, "the network failed")
        plan.connected()
        #expect(plan.leftOut.isEmpty && answerAll(&plan) == ["a", "b", "y"] && answerAll(&plan) == ["x"])
    }

    /// A part of a program that subscribes again and again must not cause a reconnect loop either.
    @Test func reportsFilterThatIsLeftOut() {
        var plan = planWithoutX()
        plan.change(.unsubscribe("x"))
        plan.change(subscribe("x"))
        #expect(plan.takeLeftOut().map(\.filter) == ["x"] && sent(&plan) == ["-x"])
        plan.change(.unsubscribe("x"))
        _ = sent(&plan)
        plan.connectionHasLasted(1)
        #expect(!plan.hasChanges && sent(&plan).isEmpty, "nobody wants it any more")
    }
}
