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

    /// While one thread writes as fast as it can, every copy is without a gap.
    @Test func copiesAreWholeWhileItIsWritten() async {
        let values = NewestValues<Int>(capacity: 500)
        let isOver = Flag()
        let writer = Task.detached {
            var count = 0
            while !isOver.isSet {
                append(count..<count + 20, to: values)
                count += 20
            }
        }
        for _ in 0..<2000 {
            let copy = values.copy { _ in true }
            guard let first = copy.first else { continue }
            guard copy == Array(first..<first + copy.count), copy.count <= 500 else {
                Issue.record("\(copy)")
                break
            }
        }
        isOver.set()
        await writer.value
    }
}
