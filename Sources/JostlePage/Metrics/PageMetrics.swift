internal import JostleCommandLine
internal import LinuxSystem

/// What the page counts about itself, for its metrics.
struct PageMetrics {
    var messages = 0
    var droppedMessages = 0
    /// The messages that closed viewers did not take.
    var viewerDroppedMessages = 0
    /// The answers by their status.
    private var requests: [Int: Int] = [:]

    mutating func count(status: Int) { requests[status, default: 0] += 1 }

    /// What it is now.
    struct Present {
        var isConnected: Bool
        var boards: Int
        var viewers: Int
        var ignoredMessages: Int
        /// The messages that open viewers did not take.
        var viewerDroppedMessages: Int
    }

    /// Adds the metrics of the page and of its process.
    func add(to text: inout MetricsText, _ present: Present) {
        text.add(.build, MetricLabels(["version": version]), 1)
        text.add(.brokerConnected, MetricLabels(), present.isConnected)
        text.add(.boards, Double(present.boards))
        text.add(.viewers, Double(present.viewers))
        text.add(.messages, Double(messages))
        text.add(.droppedMessages, Double(droppedMessages))
        text.add(.ignoredMessages, Double(present.ignoredMessages))
        text.add(.viewerDroppedMessages, Double(viewerDroppedMessages + present.viewerDroppedMessages))
        for status in requests.keys.sorted() {
            text.add(.requests, MetricLabels(["code": "\(status)"]), Double(requests[status] ?? 0))
        }
        let process = ProcessFigures.read()
        text.add(.processTime, process?.processorTime)
        text.add(.residentMemory, process?.residentMemory)
        text.add(.virtualMemory, process?.virtualMemory)
        text.add(.processStart, process?.start)
        text.add(.openDescriptors, ProcessFigures.openDescriptors.map(Double.init))
        text.add(.maximumDescriptors, DescriptorLimit.current.map(Double.init))
    }
}
