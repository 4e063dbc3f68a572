import JostleConfiguration
import Testing

@testable import JostleMessages

/// Requirement: a problem of a document fits into a line of a log, whatever the document contains.
@Suite struct LayerDocumentTests {
    private func problem(_ text: String) -> String? {
        do {
            _ = try LayerDocument(reading: Array(text.utf8), layer: "all")
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func shortensUnknownKeys() throws {
        let key = String(repeating: "k", count: 60_000)
        let document = "\"schema\": 1, \"revision\": 1, \"config\": {}"
        #expect(problem("{\(document)}") == nil)
        for text in ["{\(document), \"\(key)\": 1}", "{\(document), \"candidate\": {\"\(key)\": 1}}"] {
            let shown = try #require(problem(text))
            #expect(shown.contains("kkk…: unknown key") && shown.utf8.count < 400, "\(shown)")
        }
    }
}
