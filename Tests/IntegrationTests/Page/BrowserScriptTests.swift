import BrokerTestSupport
import Foundation
import Testing

extension BrowserTests {
    /// The parts of the page's scripts that compute, in the browser that runs them.
    @Suite struct Scripts {
        private let rig = Rig()

        /// Runs JavaScript with the exports of a module; a condition that does not hold throws.
        private func check(_ module: String, _ script: String) async throws {
            let broker = try await rig.broker()
            let page = try await rig.page(broker: broker.port)
            let browser = try await rig.browser()
            try browser.open("\(page.base)/?token=\(page.token)")
            let isDone = try browser.runAndWait(
                """
                const is = (value, wanted, tolerance = 0) => {
                  const isEqual = tolerance > 0 ? Math.abs(value - wanted) <= tolerance : Object.is(value, wanted);
                  if (!isEqual) throw new Error(`${value} instead of ${wanted}`);
                };
                const throws = (call) => {
                  try { call(); } catch (error) { return; }
                  throw new Error(`${call} throws nothing`);
                };
                const m = await import("/\(module)");
                \(script)
                return "done";
                """)
            #expect(isDone as? String == "done")
        }

        /// Streams with losses, clocks that are set, and delays, as one continuous time.
        @Test func samplesHaveOneContinuousTime() async throws { try await check("recording.js", Self.feed) }

        private static let feed = """
            const T0 = 1795182603000;
            const message = (n, t, k = 4, period = 0.005) => ({ n, seq: 0, t, period: k > 1 ? period : undefined,
              acceleration: Array(k).fill([0, 0, 9.81]), rotation: Array(k).fill([1, 2, 3]), attitude: Array(k).fill([1, 0, 0, 0]) });
            const gaps = ({ samples }) => samples.flags.slice(1, samples.count).filter((flag) => flag & 1).length;
            const fed = (steps) => {
              const feed = new m.SampleFeed();
              for (const [at, data] of steps) feed.handle("stream", data, at);
              return feed;
            };
            const increases = ({ samples }) => samples.times.slice(1, samples.count).every((time, index) => time > samples.times[index]);
            const steps = Array.from({ length: 100 }, (_, i) => [1000 + 20 * i + 25, message(4 * i, T0 + 20 * i)]);
            let feed = fed(steps);
            is(feed.received, 400); is(feed.lost, 0); is(gaps(feed), 0); is(feed.rate, 200, 1e-6);
            is(feed.now(3005), T0 + 1995, 20); is(feed.attitude.t, T0 + 1995);
            // Samples 400 to 439 are lost on the way; then time jumps without a loss, because the sensor had a gap.
            feed = fed([...steps, [3030, message(440, T0 + 2200)]]); is(feed.lost, 40); is(gaps(feed), 1);
            feed = fed([...steps, [3530, message(400, T0 + 2500)]]); is(feed.lost, 0); is(gaps(feed), 1);
            // The board's clock is set forward and back by a day.
            const day = 86400000;
            feed = fed([...steps, [3025, message(400, T0 + 2000 + day)], [3045, message(404, T0 + 2020 + day)]]);
            is(feed.samples.lastTime - T0 < 4000, true); is(feed.attitude.t > T0 + day, true);
            feed = fed([...steps, [3025, message(400, T0 + 2000 - day)], [3045, message(404, T0 + 2020 - day)]]);
            is(feed.samples.lastTime - T0, 2100, 100); is(increases(feed), true);
            // The network stalls for eight seconds, and everything comes at once.
            const late = Array.from({ length: 400 }, (_, i) => [11000 + i * 0.1, message(400 + 4 * i, T0 + 2000 + 20 * i)]);
            feed = fed([...steps, ...late]); is(gaps(feed), 0); is(feed.samples.lastTime, T0 + 2000 + 20 * 399 + 15, 1);
            // The stream begins again: nothing was lost.
            feed = fed(steps); feed.handle("hello", {}, 9000); feed.handle("stream", message(90000, T0 + 100000), 102025);
            is(feed.lost, 0); is(gaps(feed), 1);
            feed = fed([...steps, [3625, message(0, T0 + 2600)]]); is(feed.lost, 0); is(gaps(feed), 1);
            // Messages of one sample each, and of every second one.
            feed = fed(Array.from({ length: 300 }, (_, i) => [1000 + 20 * i, message(i, T0 + 20 * i + (i % 2), 1)]));
            is(feed.rate, 50, 4); is(gaps(feed), 0);
            feed = fed([...Array(10).keys()].map((i) => [1000 + 40 * i, { ...message(8 * i, T0 + 40 * i, 4, 0.01), every: 2 }]));
            is(feed.lost, 0); feed.handle("stream", { ...message(96, T0 + 480, 4, 0.01), every: 2 }, 1480); is(feed.lost, 8);
            // What cannot be read stores nothing.
            const count = feed.samples.count;
            for (const bad of [null, [], 3, "x", {}, { t: 1e300, acceleration: [[1, 2, 3]] }, { t: T0, acceleration: [[1, 2]] },
              { t: T0, acceleration: [[1, 2, null]] }, { t: T0, period: -1, acceleration: [[1, 2, 3]] },
              { t: T0, acceleration: [[1, 2, 3], [1, 2, 3]] }, { t: T0, attitude: [[0, 0, 0, 0]] },
              { t: T0, acceleration: Array(6000).fill([1, 2, 3]), period: 0.1 }]) throws(() => feed.handle("stream", bad, 2000));
            for (const bad of [{}, { t: T0, q: [1, 0, 0] }, { t: "x", q: [1, 0, 0, 0] }, { t: T0, q: [9, 0, 0, 0] }]) {
              throws(() => feed.handle("attitude", bad, 5000));
            }
            is(feed.samples.count, count);
            // The ring forgets the oldest rows.
            const ring = new m.Series(1, 10);
            for (let i = 0; i < 25; i += 1) ring.push(i, [i], 0);
            is(ring.first, 15); is(ring.find(-5), 15); is(ring.find(20), 20); is(ring.find(99), 25);
            feed = fed(steps);
            const { parts } = m.recordingRows(feed.samples, 0, feed.samples.count, () => true);
            is(parts.length, 400); is(parts[1], "0.005000,0.00000,0.00000,9.81000,0.017453,0.034907,0.052360\\n");
            is(m.eulerAngles([Math.SQRT1_2, 0, 0, Math.SQRT1_2])[2], 90, 1e-9);
            is(m.eulerAngles([Math.cos(0.1), Math.sin(0.1), 0, 0])[0], 0.2 * 180 / Math.PI, 1e-9);
            """

        /// A vibration of 0.5 m/s² RMS at 24.83 Hz in noise, and noise alone.
        @Test func theSpectrumHasTheLevelAndTheFrequency() async throws {
            try await check("spectrum.js", Self.spectrum)
        }

        private static let spectrum = """
            const [n, rate] = [1024, 200];
            let seed = 1;
            const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
            const noise = () => 0.03 * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
            const swing = (i) => 9.81 + 0.5 * Math.SQRT2 * Math.sin((2 * Math.PI * 24.83 * i) / rate);
            const axes = [0, 1, 2].map((axis) => Array.from({ length: n }, (_, i) => noise() + (axis === 2 ? swing(i) : 0)));
            const first = Math.ceil(2.5 / (rate / n));
            const power = m.powerSpectrum(axes);
            is(m.vibrationLevel(power.subarray(first)), 0.5, 0.01);
            is((m.peakBin(power, first) * rate) / n, 24.83, 0.05);
            const still = m.powerSpectrum([0, 1, 2].map(() => Array.from({ length: n }, noise)));
            is(Math.sqrt(still.reduce((sum, part) => sum + part)), 0.03 * Math.sqrt(3), 0.004);
            is(m.vibrationLevel(still.subarray(first)) < 0.025, true);
            """

        /// A board names what it permits: what it names must not keep the page busy.
        @Test func patternsTakeNoTime() async throws { try await check("settings.js", Self.patterns) }

        private static let patterns = """
            const begin = performance.now();
            is(m.permits(["*".repeat(300) + "X", "*a".repeat(150) + "X"], "gestures." + "a".repeat(300)), false);
            is(performance.now() - begin < 1000, true);
            for (const [pattern, key, isPermitted] of [
              ["gestures", "gestures.shake.enabled", true], ["gestures.shake", "gestures.shakes", false], ["*", "a.b", true],
              ["sensor.*_range", "sensor.gyroscope_range", true], ["sensor.*_range", "sensor.gyroscope_ranges", false],
              ["gestures.*.sens*ity", "gestures.tap.sensitivity", true], ["gestures.*ity", "gestures.tap.sensitivity", false],
              ["a*a", "a", false], ["a*a", "aa", true], ["a*b*c", "a-b-b-c", true], ["a*b*c", "a-c-b", false], ["a.b", "a", false],
              [".*", "ab", false], ["a+", "aa", false], ["", "a", false],
            ]) is(m.permits([pattern], key), isPermitted);
            is(m.permits(undefined, "a"), true);
            """

        @Test func textIsSafeAndShort() async throws { try await check("text.js", Self.text) }

        private static let text = """
            is(m.number(-4.5, 2, "m/s²"), "−4.50\\u00a0m/s²"); is(m.number(-0.01, 1), "0.0"); is(m.number("3"), "–");
            is(m.count(1234567), "1\\u202f234\\u202f567");
            is(m.quantity("8 g", { g: 9.80665 }), 78.4532, 1e-9); is(m.quantity("20 ms", { ms: 0.001 }), 0.02);
            is(m.quantity("8 kg", { g: 1 }), undefined); is(m.quantity("8 constructor", { g: 1 }), undefined);
            const begin = performance.now();
            is(m.quantity("1".repeat(1e5) + " a b", { a: 1 }), undefined); is(performance.now() - begin < 1000, true);
            is(m.quantity({}, {}), undefined); is(m.duration(11520), "3\\u00a0h 12\\u00a0min");
            is(m.clean("a\\u202eb\\nc"), "a b c"); is(m.clean("x".repeat(1e6)).length, 401);
            let deep = [];
            for (let i = 0; i < 1e5; i += 1) deep = [deep];
            is(m.clean(deep).length <= 401, true);
            """
    }
}
