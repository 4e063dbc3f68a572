import BrokerTestSupport
import Testing

@testable import MotionKit

/// Requirement: the memory of the last samples has the newest ones, in order, and a copy has none that was replaced meanwhile.
@Suite struct NewestValuesTests {
    private func append(_ numbers: Range<Int>, to values: NewestValues<Int>) {
        Array(numbers).withUnsafeBufferPointer { values.append($0) }
    }

    @Test(arguments: [1, 3, 256])
    func keepsTheNewest(batch: Int) {
        let values = NewestValues<Int>(capacity: 1000)
        #expect(values.byteCount == 1256 * 8)
        #expect(values.copy { _ in true }.isEmpty)
        var count = 0
        for end in [batch, 900, 1000, 1256, 1257, 5000] {
            while count < end {
                append(count..<count + batch, to: values)
                count += batch
            }
            #expect(values.copy { _ in true } == Array(max(0, count - 1000)..<count), "\(count)")
        }
        #expect(values.copy { $0 >= count - 10 && $0 < count - 5 } == Array(count - 10..<count - 5))
        #expect(values.copy { $0 < 0 }.isEmpty)
    }

    /// What was replaced while it was copied is left out, however much that is.
    @Test(arguments: [0, 100, 256, 300, 500, 756, 2000])
    func leavesOutWhatWasReplacedMeanwhile(late: Int) {
        let values = NewestValues<Int>(capacity: 500)
        for start in stride(from: 0, to: 2000, by: 100) { append(start..<start + 100, to: values) }
        var rest = late
        let copy = values.copy { value in
            // The producer goes on in the middle of the copy.
            while value == 1750, rest > 0 {
                append(2000 + late - rest..<2000 + late - rest + min(rest, 100), to: values)
                rest -= min(rest, 100)
            }
            return true
        }
        #expect(copy == Array(min(2000, 1500 + late)..<2000))
    }

    /// One thread copies while another writes.
    @Test func threadsShareIt() async {
        let values = NewestValues<Int>(capacity: 100_000)
        let writer = Task.detached {
            for start in stride(from: 0, to: 100_000, by: 20) { append(start..<start + 20, to: values) }
        }
        var last = 0
        while last < 100_000 {
            let copy = values.copy { _ in true }
            guard copy == Array(0..<copy.count), copy.count >= last else {
                Issue.record("\(copy.count) after \(last)")
                break
            }
            last = copy.count
        }
        await writer.value
    }
}
