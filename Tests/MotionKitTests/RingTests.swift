import Foundation
import LinuxSystem
import Synchronization
import SystemTestSupport
import Testing

@testable import MotionKit

/// The ring between the sensor thread and the delivery thread: in order, nothing lost unnoticed, no locks.
@Suite struct RingTests {
    @Test func elementsComeOutInTheOrderInWhichTheyWentIn() {
        let ring = Ring<Int>(capacity: 8)
        for element in [3, -1, 4, -1, 5] { #expect(ring.push(element)) }
        var taken: [Int] = []
        while let element = ring.pop() { taken.append(element) }
        #expect(taken == [3, -1, 4, -1, 5])
        #expect(ring.pop() == nil)
    }

    /// The capacity is the next power of two; what finds no room is refused and not in the way of what is there.
    @Test(arguments: [(1, 2), (2, 2), (3, 4), (64, 64), (65, 128)])
    func aFullRingRefuses(asked: Int, room: Int) {
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

    @Test func indicesWrapAround() {
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

    /// One thread puts a million numbers in while another takes them out: all of them, in order.
    @Test func twoThreadsPassAMillionElements() async throws {
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
                    // The two halves differ where an element was read while it was written.
                    if let (a, b) = element, a != expected || b != ~expected {
                        wrong.append(expected)
                        return
                    }
                    taken.countUp()
                }
            })
        let isDone = await eventually(within: 60) {
            taken.value == count || wrong.count > 0
        }
        gaveUp.set()
        producer.join(within: 5)
        consumer.join(within: 5)
        #expect(isDone)
        #expect(wrong.entries == [])
        #expect(ring.pop() == nil)
    }
}
