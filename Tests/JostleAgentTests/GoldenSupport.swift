import MosquittoClient
import MotionCore

@testable import JostleAgent

extension MQTTMessage {
    /// The message on one line: topic, how it is sent, and payload.
    var goldenLine: String {
        let retained = retain ? ", retained" : ""
        let expiry = properties.messageExpiry.map { ", expires after \($0) s" } ?? ""
        return "\(topic) (qos \(qos.rawValue)\(retained)\(expiry)) \(payload.text)"
    }
}

extension String {
    /// The text with a letter in place of times, which tests take from the clock of the machine.
    var withoutTimes: String {
        replacing(/"t": ?[0-9.]+/, with: "\"t\":T")
    }
}

/// Clocks that stand still, at a time at which no machine was started.
let goldenClocks = ClockReading(
    boot: "boot-1", monotonic: Timestamp(seconds: 100),
    wall: 4_102_444_800_123, isSet: true)
