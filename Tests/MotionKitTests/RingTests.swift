import BrokerTestSupport
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import MotionKit

/// The queue between the sensor thread and the delivery thread keeps the order and reports lost elements.
@Suite struct RingTests {
    @Test func keepsOrder() {
        let ring = Ring<Int>(capacity: 8)
        for element in [3, -1, 4, -1, 5] { #expect(ring.push(element)) }
        var taken: [Int] = []
        while let element = ring.pop() { taken.append(element) }
        #expect(taken == [3, -1, 4, -1, 5])
        #expect(ring.pop() == nil)
    }

    /// The capacity is the next power of two. Elements beyond it are refused and overwrite nothing.
    @Test(arguments: [(1, 2), (2, 2), (3, 4), (64, 64), (65, 128)])
    func refusesElementsWhenFull(asked: Int, room: Int) {
        let ring = Ring<Int>(capacity: asked)
        for element in 0..<room { #expect(ring.push(element)) }
        #expect(!ring.push(-1))
        #expect(!ring.push(-2))
        #expect(ring.pop() == 0)
        #expect(ring.push(room))
        var taken: [Int] = []
        while let element = ring.pop() { taken.append(element) }
        #expect(taken == Array(1...room))
    }

    @Test func wrapsIndices() {
        let ring = Ring<Int>(capacity: 4)
        var next = 0
        for element in 0..<1000 {
            #expect(ring.push(element))
            guard element % 3 != 0 else { continue }
            #expect(ring.pop() == next)
            next += 1
            if let other = element % 2 == 0 ? ring.pop() : nil {
                #expect(other == next)
                next += 1
            }
        }
        while let element = ring.pop() {
            #expect(element == next)
            next += 1
        }
        #expect(next == 1000)
    }

    /// One thread adds a million numbers while another removes them: all arrive, in order.
    @Test func passesMillionElementsBetweenThreads() async throws {
        let count = 1_000_000
        let ring = Ring<(Int, Int)>(capacity: 256)
        let wrong = Journal<Int>()
        let taken = Counter()
        let gaveUp = Flag()
        let producer = try #require(
            WorkerThread(name: "producer") {
                for element in 0..<count {
                    while !ring.push((element, ~element)) {
                        if gaveUp.isSet { return }
                        sched_yield()
                    }
                }
            })
        let consumer = try #require(
            WorkerThread(name: "consumer") {
                for expected in 0..<count {
                    var element = ring.pop()
                    while element == nil {
                        if gaveUp.isSet { return }
                        sched_yield()
                        element = ring.pop()
                    }
                    // The two halves differ if an element was read while it was being written.
                    if let (a, b) = element, a != expected || b != ~expected {
                        wrong.append(expected)
                        return
                    }
                    taken.countUp()
                }
            })
        var isDone = false
        var before = -1
        // A busy machine takes its time, but no pause of a minute.
        while !isDone, taken.value > before {
            before = taken.value
            isDone = await eventually { taken.value == count || wrong.count > 0 }
        }
        gaveUp.set()
        producer.join(within: 5)
        consumer.join(within: 5)
        #expect(isDone)
        #expect(wrong.entries == [])
        #expect(ring.pop() == nil)
    }
}
