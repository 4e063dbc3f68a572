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
    package static let files: [File] = [
        File("app.css", PackageResources.app_css),
        File("app.js", PackageResources.app_js),
        File("attitude.js", PackageResources.attitude_js),
        File("board.js", PackageResources.board_js),
        File("boards.js", PackageResources.boards_js),
        File("commands.js", PackageResources.commands_js),
        File("gestures.js", PackageResources.gestures_js),
        File("icon.svg", PackageResources.icon_svg),
        File("index.html", PackageResources.index_html),
        File("login.html", PackageResources.login_html),
        File("login.js", PackageResources.login_js),
        File("panel.css", PackageResources.panel_css),
        File("plots.js", PackageResources.plots_js),
        File("pose.js", PackageResources.pose_js),
        File("recording.js", PackageResources.recording_js),
        File("settings.js", PackageResources.settings_js),
        File("spectrum.js", PackageResources.spectrum_js),
        File("text.js", PackageResources.text_js),
    ]
}

extension PageAssets.File {
    fileprivate init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        switch name.split(separator: ".").last {
        case "html": contentType = "text/html; charset=utf-8"
        case "css": contentType = "text/css; charset=utf-8"
        case "svg": contentType = "image/svg+xml"
        default: contentType = "text/javascript; charset=utf-8"
        }
    }
}
