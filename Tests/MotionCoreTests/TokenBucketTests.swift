import MotionCore
import Testing

/// Requirement: the rate of frequent actions is limited, and the rejected ones are counted.
@Suite struct TokenBucketTests {
    private func spend(_ bucket: inout TokenBucket, at seconds: Double, times: Int) -> Int {
        (0..<times).reduce(0) { count, _ in count + (bucket.spend(at: Timestamp(seconds: seconds)) ? 1 : 0) }
    }

    @Test func allowsBurstThenRate() {
        var bucket = TokenBucket(capacity: 3, rate: 2)
        #expect(spend(&bucket, at: 10, times: 9) == 3)
        #expect(spend(&bucket, at: 10.4, times: 9) == 0)
        #expect(spend(&bucket, at: 10.5, times: 9) == 1)
        #expect(spend(&bucket, at: 11.5, times: 9) == 2)
        #expect(spend(&bucket, at: 99, times: 9) == 3)
    }

    /// A clock that is read on two threads may deliver instants in the wrong order.
    @Test func timeGoingBackAddsNoTokens() {
        var bucket = TokenBucket(capacity: 3, rate: 2)
        #expect(spend(&bucket, at: 99, times: 3) == 3)
        #expect(spend(&bucket, at: 98, times: 9) == 0)
        #expect(spend(&bucket, at: 99, times: 9) == 0)
        #expect(spend(&bucket, at: 99.5, times: 9) == 1)
    }

    @Test func countsRejectionsUntilTaken() {
        var bucket = TokenBucket(capacity: 2, rate: 0.05)
        #expect(spend(&bucket, at: 5, times: 12) == 2)
        #expect(bucket.rejected == 10)
        #expect(spend(&bucket, at: 25.5, times: 1) == 1)
        #expect(bucket.takeRejected() == 10)
        #expect(bucket.rejected == 0)
        #expect(spend(&bucket, at: 26, times: 4) == 0)
        #expect(bucket.takeRejected() == 4)
        #expect(bucket.takeRejected() == 0)
    }

    /// Six lines at once and three a minute: of 36,000 in an hour about 186 remain.
    @Test func floodIsLimitedToRateAndFullyCounted() {
        var bucket = TokenBucket(capacity: 6, rate: 1.0 / 20)
        var written = 0
        var rejected = 0
        for k in 0..<36_000 where bucket.spend(at: Timestamp(seconds: 1000 + 0.1 * Double(k))) {
            written += 1
            rejected += bucket.takeRejected()
        }
        #expect((180...187).contains(written))
        #expect(written + rejected + bucket.rejected == 36_000)
    }
}
