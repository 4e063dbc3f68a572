import Testing

@testable import HTTPServer

/// Which connections must end.
@Suite struct ConnectionDeadlinesTests {
    private func deadlines() -> ConnectionDeadlines {
        var limits = HTTPLimits()
        (limits.request, limits.answer, limits.requesting) = (20, 60, 3)
        return ConnectionDeadlines(limits)
    }

    @Test func aRequestMustBeCompleteInTime() {
        var deadlines = deadlines()
        _ = deadlines.begin(7, at: 100)
        #expect(deadlines.nextDeadline == 120)
        #expect(deadlines.due(at: 119.9) == [])
        #expect(deadlines.due(at: 120) == [7])
        #expect(deadlines.due(at: 500) == [], "each once")
        #expect(deadlines.nextDeadline == nil)
    }

    @Test func anAnswerHasItsOwnTime() {
        var deadlines = deadlines()
        let number = deadlines.begin(7, at: 100).number
        #expect(!deadlines.isAnswering)
        deadlines.change(number, to: .answering, at: 110)
        #expect(deadlines.isAnswering)
        #expect(deadlines.nextDeadline == 170)
        #expect(deadlines.due(at: 169) == [])
        #expect(deadlines.due(at: 170) == [7])
    }

    @Test func theNextRequestHasItsTimeFromTheLastAnswer() {
        var deadlines = deadlines()
        let number = deadlines.begin(7, at: 100).number
        deadlines.change(number, to: .answering, at: 119)
        deadlines.change(number, to: .requesting, at: 119)
        #expect(deadlines.nextDeadline == 139)
    }

    @Test func aStreamHasNoDeadline() {
        var deadlines = deadlines()
        let number = deadlines.begin(7, at: 100).number
        deadlines.change(number, to: .streaming, at: 101)
        #expect(deadlines.nextDeadline == nil)
        #expect(deadlines.due(at: 1_000_000) == [])
    }

    @Test func theOldestOfTooManyRequestsEnds() {
        var deadlines = deadlines()
        let stream = deadlines.begin(1, at: 0).number
        deadlines.change(stream, to: .streaming, at: 0)
        let answer = deadlines.begin(2, at: 1).number
        deadlines.change(answer, to: .answering, at: 1)
        for descriptor in Int32(3)...5 { #expect(deadlines.begin(descriptor, at: Double(descriptor)).surplus == nil) }
        #expect(deadlines.begin(6, at: 6).surplus == 3, "streams and answers do not count")
        #expect(deadlines.begin(7, at: 7).surplus == 4, "one that is ending does not count either")
    }

    @Test func anEndedConnectionIsForgottenEvenIfItsDescriptorReturns() {
        var deadlines = deadlines()
        let first = deadlines.begin(7, at: 100).number
        deadlines.end(first)
        _ = deadlines.begin(7, at: 115)
        #expect(deadlines.due(at: 120) == [])
        #expect(deadlines.due(at: 135) == [7])
        deadlines.change(first, to: .streaming, at: 140)
        deadlines.end(first)
        #expect(deadlines.nextDeadline == nil)
    }
}
