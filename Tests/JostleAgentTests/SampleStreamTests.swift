import Foundation
import MotionCore
import MotionKit
import Testing

@testable import JostleAgent

/// Requirement: a stream's messages show which samples they contain, when these were measured, and what is missing.
@Suite struct SampleStreamTests {
    private func sample(_ number: UInt64, at seconds: Double? = nil) -> MeasuredSample {
        MeasuredSample(
            number: number, timestamp: Timestamp(seconds: seconds ?? 100 + 0.005 * Double(number)),
            acceleration: Vector3(Double(number), -1.23456, 9.80665), rotationRate: Vector3(0, .pi / 180, -.pi),
            attitude: Quaternion(0.8, 0, -0.6, 0))
    }

    private func batches(_ stream: inout SampleStream, _ samples: [MeasuredSample]) -> [SampleStream.Batch] {
        var batches: [SampleStream.Batch] = []
        for sample in samples { stream.append(sample) { batches.append($0) } }
        return batches
    }

    @Test func messageCoversTenthOfSecond() {
        var stream = SampleStream(fields: .acceleration, rate: nil, sensorRate: 200)
        var all = batches(&stream, (1000..<1050).map { sample($0) })
        stream.flush { all.append($0) }
        #expect(all.map(\.sequence) == [0, 1, 2] && all.map(\.first) == [0, 20, 40])
        #expect(all.map(\.samples.count) == [20, 20, 10])
        #expect(all.allSatisfy { abs($0.period - 0.005) < 1e-9 && $0.step == 1 })
        stream.flush { _ in Issue.record("there is nothing left") }
    }

    /// The interval, how many samples a message then has at 200 Hz, and with every second sample.
    @Test(
        arguments: [(0.01, 2, 1), (0.02, 4, 2), (0.1, 20, 10), (0.5, 100, 50), (1, 128, 100)] as [(Double, Int, Int)])
    func intervalSetsSamplesPerMessage(interval: Double, count: Int, half: Int) {
        for (rate, expected) in [(nil, count), (100, half)] as [(Double?, Int)] {
            var stream = SampleStream(fields: .acceleration, rate: rate, interval: interval, sensorRate: 200)
            let all = batches(&stream, (0..<600).map { sample($0) })
            #expect(!all.isEmpty && all.allSatisfy { $0.samples.count == expected })
            #expect(all.map(\.sequence) == all.indices.map { UInt64($0) })
        }
    }

    @Test func limitsSamplesPerMessage() {
        var stream = SampleStream(fields: .acceleration, rate: nil, sensorRate: 8000)
        let all = batches(&stream, (0..<1000).map { sample($0, at: Double($0) / 8000) })
        #expect(all.allSatisfy { $0.samples.count == SampleStream.maximumSamples } && all.count == 7)
    }

    @Test func slowSensorHasOneSamplePerMessage() {
        var stream = SampleStream(fields: .acceleration, rate: nil, sensorRate: 4)
        let all = batches(&stream, (0..<5).map { sample($0, at: 0.25 * Double($0)) })
        #expect(all.map(\.samples.count) == [1, 1, 1, 1, 1] && all.map(\.first) == [0, 1, 2, 3, 4])
    }

    @Test(arguments: [(100.0, 2), (200, 1), (199.9, 2), (1000, 1), (60, 4), (1, 200)] as [(Double, UInt64)])
    func rateSelectsEveryNthSample(rate: Double, step: UInt64) {
        var stream = SampleStream(fields: .acceleration, rate: rate, sensorRate: 200)
        #expect(stream.step == step)
        var all = batches(&stream, (7..<1007).map { sample($0) })
        stream.flush { all.append($0) }
        let numbers = all.flatMap { batch in batch.samples.indices.map { batch.first + UInt64($0) * batch.step } }
        let expected = stride(from: 0, to: 1000, by: Int(step)).map { UInt64($0) }
        #expect(numbers == expected)
        #expect(all.flatMap { $0.samples.map { $0.number - 7 } } == numbers)
    }

    /// A sample dropped on its way shows in the numbers; samples that the sensor lost show in the time.
    @Test func gapEndsMessage() {
        var stream = SampleStream(fields: .acceleration, rate: nil, sensorRate: 200)
        let samples =
            (0..<5).map { sample($0) } + (8..<12).map { sample($0) }
            + (12..<16).map { sample($0, at: 103 + 0.005 * Double($0)) }
        var all = batches(&stream, samples)
        stream.flush { all.append($0) }
        #expect(all.map(\.first) == [0, 8, 12] && all.map(\.samples.count) == [5, 4, 4])
        #expect(all.map(\.sequence) == [0, 1, 2])
        #expect(abs(all[2].samples[0].timestamp.seconds(since: Timestamp(seconds: 103.06))) < 1e-9)
    }

    /// A sample that waits alone when the gap begins is not spread over it.
    @Test(arguments: [0.85, 1, 1.15])
    func gapAfterFirstSampleEndsMessage(slowness: Double) {
        var stream = SampleStream(fields: .acceleration, rate: 100, sensorRate: 200)
        let period = 0.005 * slowness
        let samples =
            (0..<21).map { sample($0, at: period * Double($0)) }
            + (21..<31).map { sample($0, at: 0.16 + period * Double($0)) }
        var all = batches(&stream, samples)
        stream.flush { all.append($0) }
        #expect(all.map(\.samples.count) == [10, 1, 5])
        #expect(abs(all[2].period - 2 * period) < 1e-9 && all[1].period == 0)
    }

    /// The magnetometer has a rate of its own: a message has the readings since the one before, and none has a reading twice.
    @Test func readingsOfTheMagnetometerAreInTheNextMessage() {
        var stream = SampleStream(fields: [.acceleration, .field], rate: nil, interval: 0.01, sensorRate: 200)
        var all: [SampleStream.Batch] = []
        for number in 0..<6 {
            if number == 2 { stream.append([Vector3(20, 0.125, -44), Vector3(1, 2, 3)]) }
            all += batches(&stream, [sample(UInt64(number))])
        }
        #expect(all.map(\.magneticFields.count) == [0, 2, 0])
        #expect(
            all.map { $0.payload(at: 7).description.components(separatedBy: #","field":"#).dropFirst().first }
                == [nil, "[[20,0.13,-44],[1,2,3]]}", nil])
        for _ in 0..<100 { stream.append([.zero, .zero]) }
        stream.append(sample(6)) { _ in }
        stream.flush { #expect($0.magneticFields.count == SampleStream.maximumSamples) }
    }

    @Test func payloadUsesContractUnits() {
        var stream = SampleStream(fields: [.acceleration, .rotation, .attitude], rate: 100, sensorRate: 200)
        var all = batches(&stream, [sample(3), sample(4), sample(5)])
        stream.flush { all.append($0) }
        #expect(all.count == 1)
        #expect(
            all[0].payload(at: 1_795_182_603_123.4567).description
                == #"{"seq":0,"n":0,"every":2,"t":1795182603123.457,"period":0.01,"#
                + #""acceleration":[[3,-1.2346,9.8067],[5,-1.2346,9.8067]],"rotation":[[0,1,-180],[0,1,-180]],"#
                + #""attitude":[[0.8,0,-0.6,0],[0.8,0,-0.6,0]]}"#)

        var none = SampleStream(fields: [.acceleration, .rotation], rate: nil, sensorRate: 200)
        var still = sample(0)
        still.rotationRate = Vector3(.nan, .nan, .nan)
        none.append(still) { _ in }
        none.flush {
            #expect($0.payload(at: 7).description == #"{"seq":0,"n":0,"t":7,"acceleration":[[0,-1.2346,9.8067]]}"#)
        }
    }
}
