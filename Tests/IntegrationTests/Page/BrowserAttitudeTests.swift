import Foundation
import Testing

extension BrowserTests {
    /// The board on the screen has the attitude that the board published.
    @Suite struct Attitude {
        /// What the page drew in one frame.
        private struct Drawn {
            /// The time of the sample, ms since 1970, and that of the drawing.
            var time, at: Double
            var quaternion: [Double]
            /// The matrix of the element, row by row, in CSS's frame.
            var matrix: [Double]
        }

        /// Records what is drawn for a time in ms: each new attitude with the matrix that the browser computed.
        private static let recording = """
            const board = document.getElementById("board-3d");
            const drawn = [];
            let last = "";
            const end = performance.now() + arguments[0];
            while (performance.now() < end) {
              await new Promise(requestAnimationFrame);
              if (board.dataset.t === last) continue;
              last = board.dataset.t;
              const m = new DOMMatrix(getComputedStyle(board).transform);
              drawn.push([Number(last), jostlePage.lastShown.at, board.dataset.q,
                [m.m11, m.m21, m.m31, m.m12, m.m22, m.m32, m.m13, m.m23, m.m33]]);
            }
            return drawn;
            """

        private func drawn(_ browser: Browser, milliseconds: Int) throws -> [Drawn] {
            let rows = try #require(try browser.runAndWait(Self.recording, milliseconds) as? [[Any]])
            return try rows.map { row in
                let text = try #require(row[2] as? String)
                return Drawn(
                    time: try #require(row[0] as? Double), at: try #require(row[1] as? Double),
                    quaternion: text.split(separator: ",").compactMap { Double($0) },
                    matrix: try #require(row[3] as? [Double]))
            }
        }

        /// The published attitudes by the times of their samples, in tenths of a millisecond.
        private func published(_ observer: Observer) throws -> [Int: [Double]] {
            var all: [Int: [Double]] = [:]
            for message in try observer.objects("stream") {
                let start = try #require(message["t"] as? Double)
                let period = message["period"] as? Double ?? 0
                for (index, quaternion) in (message["attitude"] as? [[Double]] ?? []).enumerated() {
                    all[Int((10 * (start + 1000 * period * Double(index))).rounded())] = quaternion
                }
            }
            return all
        }

        /// F R F for the rotation R of a quaternion and F = diag(1, −1, 1), because CSS has y down.
        private func expectedMatrix(_ q: [Double]) -> [Double] {
            let length = (q.map { $0 * $0 }.reduce(0, +)).squareRoot()
            let (w, x, y, z) = (q[0] / length, q[1] / length, q[2] / length, q[3] / length)
            let first = [w * w + x * x - y * y - z * z, -2 * (x * y - w * z), 2 * (x * z + w * y)]
            let second = [-2 * (x * y + w * z), w * w - x * x + y * y - z * z, -2 * (y * z - w * x)]
            let third = [2 * (x * z - w * y), -2 * (y * z + w * x), w * w - x * x - y * y + z * z]
            return first + second + third
        }

        /// Checks each drawn attitude that was observed too; returns how many, and the angle between the most distant.
        private func compare(_ drawn: [Drawn], _ observer: Observer) throws -> (count: Int, span: Double) {
            let published = try published(observer)
            var observed: [Drawn] = []
            for one in drawn {
                guard let quaternion = published[Int((10 * one.time).rounded())] else { continue }
                observed.append(one)
                let expected = expectedMatrix(quaternion)
                let error = zip(one.matrix, expected).map { abs($0 - $1) }.max() ?? 1
                #expect(error < 2e-3, "t \(one.time): \(one.matrix) instead of \(expected)")
            }
            func angle(_ one: Drawn, _ other: Drawn) -> Double {
                let product = abs(zip(one.quaternion, other.quaternion).map { $0 * $1 }.reduce(0, +))
                return 2 * acos(min(1, product)) * 180 / .pi
            }
            guard let first = observed.first,
                let farthest = observed.max(by: { angle($0, first) < angle($1, first) })
            else { return (0, 0) }
            return (observed.count, observed.map { angle($0, farthest) }.max() ?? 0)
        }

        @Test(arguments: ["fast-turn", "turn-360"])
        func theBoardTurnsAsTheRealOne(trajectory: String) async throws {
            let rig = try await BrowserRig.onBoard(trajectory, agent: ["sensor.rate=200Hz"])
            let frames: Int = try rig.browser.value("jostlePage.frames")
            var drawn = try drawn(rig.browser, milliseconds: 7000)
            let more = try rig.browser.value("jostlePage.frames", as: Int.self) - frames
            var (count, span) = try compare(drawn, rig.observer)
            // On a busy machine there are few frames; the trajectory repeats.
            for _ in 1...9 where count <= 30 || span <= 80 {
                drawn += try self.drawn(rig.browser, milliseconds: 7000)
                (count, span) = try compare(drawn, rig.observer)
            }
            #expect(count > 30 && count > drawn.count / 2, "\(count) of \(drawn.count) were observed")
            #expect(span > 80, "the board turned by \(span)°")

            let delays = drawn.map { $0.at - $0.time }.sorted()
            let median = delays[delays.count / 2]
            print(
                "browser, \(trajectory): \(more) frames in 7 s, \(drawn.count) attitudes drawn; from the sample to its "
                    + "drawing \(median.rounded()) ms (median), \(delays[delays.count * 95 / 100].rounded()) ms (95 %)")
            #expect(median > 0 && median < 1000)
            try rig.expectQuietConsole()
        }

        /// Requirement: "Tare" makes the present attitude zero, on the board and on the screen.
        @Test func tareMakesTheAttitudeZero() async throws {
            let rig = try await BrowserRig.onBoard(
                "slow-turn", agent: ["sensor.rate=200Hz"], page: ["page.control=true"])
            let isTurned = await rig.browser.shows(
                "Math.abs(Number(document.getElementById('board-3d').dataset.q.split(',')[3])) > 0.6")
            #expect(isTurned, "the trajectory turns by 90° about z")
            try rig.browser.clickButton("Tare")
            #expect(await rig.browser.shows("document.body.innerText.includes('This attitude is zero now.')"))
            try await rig.observer.catchUp()
            #expect(try rig.observer.objects("command/tare/result").last?["ok"] as? Bool == true)
            var drawn = try drawn(rig.browser, milliseconds: 5000)
            var (count, span) = try compare(drawn, rig.observer)
            // On a busy machine one part of the turn can pass between two frames; the trajectory repeats.
            for _ in 1...9 where span <= 60 || count <= 30 {
                drawn += try self.drawn(rig.browser, milliseconds: 5000)
                (count, span) = try compare(drawn, rig.observer)
            }
            #expect(count > 30)
            #expect(span > 60, "it turns back, \(span)°")
            #expect(
                drawn.contains { $0.quaternion[0] > 0.9 },
                "zero is at the attitude of the tare, where the board comes by")
            try rig.expectQuietConsole()
        }
    }
}
