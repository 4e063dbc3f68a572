internal import CBuildInformation
internal import Cryptography
internal import Documents
internal import JostleCommandLine
internal import MosquittoClient
internal import SQLiteDatabase

/// What `jostle --version` prints after the version: the commit if it is known, and the versions of what the program is
/// linked with.
var versionDetails: String {
    let commit = String(cString: jostle_build_commit())
    var rows: [(String, String)] = commit.isEmpty ? [] : [("commit", commit)]
    rows += [
        ("Swift", swiftVersion), ("libmosquitto", libmosquittoVersion), ("libyaml", libyamlVersion),
        ("SQLite", sqliteVersion), ("OpenSSL", openSSLVersion),
    ]
    return CommandUsage.table(rows)
}

/// The version of the compiler. Swift has no constant for it, and only the first two numbers can be known of all versions
/// that compile this package.
private var swiftVersion: String {
    #if compiler(>=6.4)
        return "6.4 or newer"
    #elseif compiler(>=6.3)
        return "6.3"
    #elseif compiler(>=6.2)
        return "6.2"
    #elseif compiler(>=6.1)
        return "6.1"
    #elseif compiler(>=6.0.3)
        return "6.0.3"
    #else
        return "6.0"
    #endif
}
