import BrokerTestSupport
import Foundation
import JostleConfiguration
import JostleMessages
import MotionCore
import PageAssets
import Testing

@testable import HTTPServer
@testable import JostlePage

/// The files of the page as they are sent.
@Suite struct PageFileTests {
    private func request(_ headers: [(name: String, value: String)] = []) -> HTTPRequest {
        var request = HTTPRequest(method: "GET", path: "/app.js")
        request.headers = headers
        return request
    }

    private func header(_ reply: HTTPReply, _ name: String) -> String? {
        reply.headers.first { $0.name == name }?.value
    }

    private func bytes(_ reply: HTTPReply) -> [UInt8]? {
        guard case .bytes(let bytes) = reply.body else { return nil }
        return bytes
    }

    @Test(arguments: PageAssets.files.map(\.name))
    func isCompressedForABrowserThatAcceptsIt(_ name: String) throws {
        let asset = try #require(PageAssets.files.first { $0.name == name })
        let file = PageFile(asset)
        let plain = file.reply(to: request())
        #expect(bytes(plain) == asset.bytes)
        #expect(header(plain, "Content-Encoding") == nil)
        #expect(header(plain, "Vary") == "Accept-Encoding")

        let reply = file.reply(to: request([("Accept-Encoding", "br, gzip;q=0.8")]))
        #expect(header(reply, "Content-Encoding") == "gzip")
        let compressed = try #require(bytes(reply))
        #expect(compressed.count < asset.bytes.count)
        #expect(try gunzip(compressed) == asset.bytes)
    }

    @Test func theWholePageIsSmall() {
        let sizes = PageFile.all().values.map { file in
            bytes(file.reply(to: request([("Accept-Encoding", "gzip")])))?.count ?? .max
        }
        #expect(sizes.reduce(0, +) < 120_000, "bytes of all files, as they are sent")
    }

    /// What the page looks up of a key: under its own name, or under that of all gestures or rules.
    @Test func allKeysAreExplained() throws {
        let reply = try #require(PageFile.all()["keys.json"]).reply(to: request())
        let known = try #require(
            try JSONSerialization.jsonObject(with: Data(bytes(reply) ?? [])) as? [String: [String]])
        for key in ConfigurationSchema.keys where key.path != "actions" {
            var path = key.path.components(separatedBy: ".")
            if path[0] == "gestures" { path[1] = "<gesture>" }
            let texts = try #require(known[key.path] ?? known[path.joined(separator: ".")], "\(key.path)")
            #expect(texts.count == 3 && texts[0] == key.summary && key.allowed.hasPrefix(texts[2]), "\(key.path)")
        }
        #expect(known["actions[].enabled"]?.first == "Whether the rule acts.")
    }

    @Test func isNotSentAgainToABrowserThatHasIt() throws {
        let file = PageFile(try #require(PageAssets.files.first { $0.name == "app.js" }))
        let tag = try #require(header(file.reply(to: request()), "ETag"))
        for value in [tag, "\"other\", \(tag)", "*"] {
            let reply = file.reply(to: request([("If-None-Match", value)]))
            #expect(reply.status == 304)
            #expect(bytes(reply) == [])
            #expect(header(reply, "ETag") == tag)
        }
        #expect(file.reply(to: request([("If-None-Match", "\"other\"")])).status == 200)
    }

    /// The names of gestures come from the board, and what else is said of them from the server.
    @Test(arguments: ["settings.js", "gestures.js"])
    func aScriptNamesNoGesture(_ name: String) throws {
        let asset = try #require(PageAssets.files.first { $0.name == name })
        let text = String(decoding: asset.bytes, as: UTF8.self)
        for gesture in Gesture.builtIn {
            #expect(!text.contains("\"\(gesture.word)\"") && !text.contains(" \(gesture.word):"), "\(gesture)")
        }
    }

    /// The page looks for the words of a gesture first, then for those of all gestures.
    @Test func theServerSaysWhyAGestureWasCancelled() throws {
        let bytes = PageServer.cancellations.bytes
        let texts = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: String])
        for gesture in Gesture.builtIn {
            for reason in CancellationReason.allCases {
                let text = texts["\(gesture.word).\(reason.word)"] ?? texts[reason.word]
                #expect(text == reason.explanation(of: gesture))
            }
        }
    }

    @Test func filesWithOtherContentHaveOtherTags() {
        let tags = PageAssets.files.map { header(PageFile($0).reply(to: request()), "ETag") }
        #expect(Set(tags).count == PageAssets.files.count)
    }

    @Test(arguments: ["gzip", "GZIP", "deflate,gzip", "br ; q=1 , gzip ; q=0.1", "x-gzip"])
    func accepts(_ header: String) { #expect(Gzip.isAccepted(by: header)) }

    @Test(arguments: [nil, "", "identity", "gzip;q=0", "gzip; q=0.0", "gzip;q=x", "gzipped", "br"])
    func doesNotAccept(_ header: String?) { #expect(!Gzip.isAccepted(by: header)) }

    /// The content by gzip(1), which is a decoder that is not ours.
    private func gunzip(_ bytes: [UInt8]) throws -> [UInt8] {
        let directory = TemporaryDirectory.absent()
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
        let file = directory.path + "/file.gz"
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        #expect(system("gzip -d '\(file)'") == 0)
        return Array(try Data(contentsOf: URL(fileURLWithPath: directory.path + "/file")))
    }
}
