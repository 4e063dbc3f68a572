import Foundation

/// Real recordings, which are not part of the repository: in `$JOSTLE_DATA`, else in `shared/data` beside the checkout.
/// Tests that need them are skipped, visibly, if there are none.
enum RecordedData {
    static let directory: URL? = {
        let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let named = ProcessInfo.processInfo.environment["JOSTLE_DATA"].map { URL(fileURLWithPath: $0) }
        let place = named ?? repository.deletingLastPathComponent().appendingPathComponent("shared/data")
        return FileManager.default.fileExists(atPath: place.path) ? place : nil
    }()

    /// The files with a suffix anywhere below a directory of the data, in alphabetical order.
    static func files(below name: String, suffix: String) -> [URL] {
        guard let directory else { return [] }
        let place = directory.appendingPathComponent(name)
        let paths = FileManager.default.enumerator(atPath: place.path)?.compactMap { $0 as? String } ?? []
        return paths.filter { $0.hasSuffix(suffix) }.sorted().map { place.appendingPathComponent($0) }
    }

    /// The set that a recording belongs to: the directory that it is in.
    static func set(of file: URL) -> String { file.deletingLastPathComponent().lastPathComponent }
}
