import BrokerTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// A Prometheus that reads the metrics of a page every half second.
final class PrometheusRig: Sendable {
    private let port: UInt16
    private let directory: TemporaryDirectory
    private let program: JostleProgram

    /// Starts it, with further lines for its job, and waits until it answers.
    init(page: UInt16, _ job: String = "") async throws {
        directory = try TemporaryDirectory()
        port = try Loopback.freePort()
        let file = try directory.write(
            """
            global: {scrape_interval: 500ms, scrape_timeout: 500ms}
            scrape_configs:
              - job_name: jostle
                static_configs: [{targets: ["127.0.0.1:\(page)"]}]
            \(job)
            """, to: "prometheus.yml")
        let path = try #require(OptionalProgram.path("prometheus"))
        let program = try JostleProgram(
            [
                "--config.file=\(file)", "--storage.tsdb.path=\(directory.path("data"))",
                "--web.listen-address=127.0.0.1:\(port)", "--log.level=warn",
            ], program: URL(fileURLWithPath: path))
        self.program = program
        let port = port
        let isReady = await eventually {
            (try? RawHTTP.get(port, "/-/ready"))?.status == 200 || !program.isRunning
        }
        guard isReady, program.isRunning else {
            program.kill()
            throw PrometheusError.didNotStart(program.errors)
        }
    }

    deinit { program.kill() }

    enum PrometheusError: Error {
        case didNotStart(String)
        /// It does not accept the query, and what it says.
        case refused(String)
    }

    /// A series of a result, with its last value.
    struct Series {
        var labels: [String: String]
        var value: Double
    }

    /// Evaluates an expression now.
    func query(_ expression: String) throws -> [Series] {
        let text = expression.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let reply = try RawHTTP.get(port, "/api/v1/query?query=\(text)")
        let isChunked = reply.header("Transfer-Encoding") == "chunked"
        let body = isChunked ? PrometheusRig.joined(Array(reply.body.utf8)) : Data(reply.body.utf8)
        guard reply.status == 200,
            let answer = try JSONSerialization.jsonObject(with: body) as? [String: Any],
            let data = answer["data"] as? [String: Any], let result = data["result"] as? [[String: Any]]
        else { throw PrometheusError.refused("\(expression): \(reply.body)") }
        return result.compactMap { series in
            guard let pair = series["value"] as? [Any], let text = pair.last as? String, let value = Double(text) else {
                return nil
            }
            return Series(labels: series["metric"] as? [String: String] ?? [:], value: value)
        }
    }

    /// Waits until an expression has results, which satisfy a condition.
    func answers(_ expression: String, _ condition: ([Series]) -> Bool = { _ in true }) async -> Bool {
        await eventually {
            guard let result = try? query(expression) else { return false }
            return !result.isEmpty && condition(result)
        }
    }

    /// A body in chunks, joined: RFC 9112, section 7.1.
    private static func joined(_ bytes: [UInt8]) -> Data {
        var rest = bytes[...]
        var body = Data()
        while let end = rest.firstIndex(of: 0x0D),
            let count = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), count > 0,
            rest.count >= end - rest.startIndex + 4 + count
        {
            body += rest[(end + 2)..<(end + 2 + count)]
            rest = rest[(end + 4 + count)...]
        }
        return body
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if there is no Prometheus.
    static var needsPrometheus: Self {
        .enabled(
            if: OptionalProgram.path("prometheus") != nil && OptionalProgram.path("promtool") != nil,
            "prometheus or promtool is not installed; Scripts/setup test unpacks them")
    }
}
