import Testing

@testable import MosquittoClient

/// Requirement: one refused filter takes no other with it, and an optional one never causes a reconnect loop.
@Suite struct SubscriptionPlanTests {
    /// A plan for the needed filters `a` and `b` and the optional `x` and `y`, connected.
    private func plan() -> SubscriptionPlan {
        var plan = SubscriptionPlan()
        for filter in ["y", "b", "x", "a"] { plan.change(subscribe(filter)) }
        #expect(!plan.hasChanges, "nothing is sent without a connection")
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

    @Test func requestsOptionalFiltersLastAndAlone() {
        var plan = plan()
        #expect(sent(&plan) == ["a", "b"])
        plan.answered("b")
        #expect(!plan.hasChanges && sent(&plan).isEmpty)
        plan.answered("a")
        #expect(plan.hasChanges && sent(&plan) == ["x"])
        #expect(sent(&plan).isEmpty)
        plan.answered("x")
        #expect(sent(&plan) == ["y"])
        plan.answered("y")
        #expect(!plan.hasChanges && sent(&plan).isEmpty)
    }

    @Test func repeatsRequestForSubscribedFilter() {
        var plan = plan()
        #expect(sent(&plan) == ["a", "b"])
        plan.change(subscribe("a"))
        #expect(sent(&plan) == ["a"])
        plan.answered("a")
        plan.answered("b")
        #expect(sent(&plan).isEmpty, "the second request is open")
        plan.answered("a")
        #expect(sent(&plan) == ["x"])
        plan.change(.unsubscribe("b"))
        plan.change(.unsubscribe("y"))
        #expect(sent(&plan) == ["-b", "-y"])
        plan.answered("x")
        #expect(sent(&plan).isEmpty)
    }

    @Test func leavesOutOptionalFilterThatEndedConnection() {
        var plan = plan()
        for filter in sent(&plan) { plan.answered(filter) }
        #expect(sent(&plan) == ["x"])
        #expect(plan.ended(isByBroker: true, wasStable: false) == "x")
        plan.connected()
        for filter in sent(&plan) { plan.answered(filter) }
        #expect(sent(&plan) == ["y"])
        // Slowly: the broker did not answer.
        #expect(plan.ended(isByBroker: true, wasStable: true) == "y")
        #expect(plan.leftOut == ["x", "y"])
        plan.connected()
        for filter in sent(&plan) { plan.answered(filter) }
        #expect(!plan.hasChanges)
        // An unstable connection changes nothing; after a stable one they are tried again.
        #expect(plan.ended(isByBroker: true, wasStable: false) == nil && plan.leftOut == ["x", "y"])
        plan.connected()
        #expect(plan.ended(isByBroker: true, wasStable: true) == nil && plan.leftOut.isEmpty)
    }

    @Test func leavesOutNothingForOtherReasons() {
        var plan = plan()
        _ = sent(&plan)
        #expect(plan.ended(isByBroker: true, wasStable: false) == nil, "a needed filter is unanswered")
        plan.connected()
        for filter in sent(&plan) { plan.answered(filter) }
        #expect(sent(&plan) == ["x"])
        plan.change(subscribe("a"))
        _ = sent(&plan)
        #expect(plan.ended(isByBroker: true, wasStable: false) == nil, "another request is unanswered")
        plan.connected()
        for filter in sent(&plan) { plan.answered(filter) }
        _ = sent(&plan)
        #expect(plan.ended(isByBroker: false, wasStable: false) == nil, "the network failed")
        #expect(plan.leftOut.isEmpty)
    }

    /// A part of a program that subscribes after each connection must not cause a reconnect loop either.
    @Test func refusesFilterThatIsLeftOut() {
        var plan = plan()
        for filter in sent(&plan) { plan.answered(filter) }
        _ = sent(&plan)
        _ = plan.ended(isByBroker: true, wasStable: false)
        #expect(plan.takeRefused().isEmpty)
        plan.connected()
        #expect(plan.takeRefused() == ["x"] && plan.takeRefused().isEmpty)
        for filter in sent(&plan) { plan.answered(filter) }
        #expect(sent(&plan) == ["y"])
        plan.answered("y")
        plan.change(.unsubscribe("x"))
        plan.change(subscribe("x"))
        #expect(plan.takeRefused() == ["x"] && sent(&plan) == ["-x"])
        _ = plan.ended(isByBroker: true, wasStable: true)
        plan.connected()
        for filter in sent(&plan) { plan.answered(filter) }
        #expect(plan.takeRefused().isEmpty && sent(&plan) == ["x"])
    }
}
