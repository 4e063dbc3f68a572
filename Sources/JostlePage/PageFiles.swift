internal import Glibc
internal import JostleCommandLine

/// The files of the program.
enum PageFiles {
    /// The key that signs cookies: in the state directory.
    static var key: String { "\(state)/page-key" }

    /// The directory of links that wait for their browser. It is made with the key.
    static var links: String { "\(state)/page-links" }

    /// The address of the page while it is served, for `jostle page link`.
    static var address: String { "\(state)/page-address" }

    /// The state directory of the service, which root uses for it.
    private static let installed = "/var/lib/jostle-page"

    /// The state directory.
    static var state: String {
        if Configuration.variable("STATE_DIRECTORY") == nil, Configuration.isRoot, access(installed, F_OK) == 0 {
            return installed
        }
        return Configuration.stateDirectory
    }
}
