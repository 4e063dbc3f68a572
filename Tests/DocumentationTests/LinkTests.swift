import Foundation
import Testing

/// Requirement: a reader who follows a link arrives, and the README stays short.
@Suite struct LinkTests {
    @Test(arguments: Documentation.paths)
    func relativeLinksLeadToFilesAndHeadings(path: String) throws {
        let page = try Documentation.page(path)
        let folder = Documentation.repository.appendingPathComponent(path).deletingLastPathComponent()
        for link in page.links where !link.contains("://") && !link.hasPrefix("mailto:") {
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let file = parts[0].isEmpty ? path : relative(folder.appendingPathComponent(parts[0]).standardizedFileURL)
            let target = Documentation.repository.appendingPathComponent(file)
            #expect(FileManager.default.fileExists(atPath: target.path), "\(path): \(link) leads to no file")
            guard parts.count == 2, FileManager.default.fileExists(atPath: target.path) else { continue }
            let anchors = try Documentation.page(file).anchors
            #expect(anchors.contains(parts[1]), "\(path): \(link) leads to no heading of \(file)")
        }
    }

    /// The path of a file in the repository.
    private func relative(_ file: URL) -> String {
        let root = Documentation.repository.standardizedFileURL.path + "/"
        return file.path.hasPrefix(root) ? String(file.path.dropFirst(root.count)) : file.path
    }

    @Test func theREADMEHasAtMost250LinesAndLinksToEveryPage() throws {
        let readme = try Documentation.page("README.md")
        // The file ends with a line break.
        #expect(readme.lines.count - 1 <= 250)
        #expect(Documentation.paths.count > 10)
        for path in Documentation.paths where path != "README.md" {
            #expect(readme.links.contains(path), "README.md does not link to \(path)")
        }
    }

    @Test(arguments: [
        ("Run it", "run-it"), ("`no chip answers`", "no-chip-answers"), ("The agent's loop", "the-agents-loop"),
        ("`… Hz need … of a … bus`", "-hz-need--of-a--bus"), ("Settings, in [MQTT](mqtt.md)", "settings-in-mqtt"),
    ])
    func headingsHaveTheAnchorsOfGitHub(heading: String, anchor: String) {
        #expect(Page.slug(of: heading) == anchor)
    }

    @Test func repeatedHeadingsAreNumbered() {
        let page = Page(path: "page.md", text: "# A b\n## A b\n```sh\n# no heading\n```\n## `A` b\n")
        #expect(page.anchors == ["a-b", "a-b-1", "a-b-2"])
    }
}
