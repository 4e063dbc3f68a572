internal import CPageAssets

/// The files of the web page, compiled into the program.
package enum PageAssets {
    /// A file.
    package struct File: Sendable {
        /// Its name, which is also its path at the server.
        package let name: String
        package let contentType: String
        package let bytes: [UInt8]
    }

    /// All files.
    package static let files = UnsafeBufferPointer(start: page_assets, count: page_asset_count).map(File.init)
}

extension PageAssets.File {
    fileprivate init(_ asset: page_asset) {
        name = String(cString: asset.name)
        bytes = Array(UnsafeBufferPointer(start: asset.bytes, count: asset.end - asset.bytes))
        switch name.split(separator: ".").last {
        case "html": contentType = "text/html; charset=utf-8"
        case "css": contentType = "text/css; charset=utf-8"
        case "svg": contentType = "image/svg+xml"
        default: contentType = "text/javascript; charset=utf-8"
        }
    }
}
