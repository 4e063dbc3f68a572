import BrokerTestSupport
import Foundation
import JostleConfiguration
import Testing

@testable import JostleMessages

/// Requirement: a secret can be moved to where only root can read it, without a change of the configuration.
@Suite struct CredentialFilesTests {
    private let top: TemporaryDirectory
    private var etc: String { top.path("etc") }
    private var run: String { top.path("run") }

    init() throws {
        top = try TemporaryDirectory()
        for name in ["etc/credentials", "run"] {
            try FileManager.default.createDirectory(atPath: top.path(name), withIntermediateDirectories: true)
        }
    }

    private func find(_ path: String, _ directory: String?) throws -> String {
        try CredentialFiles(directory: directory, configuration: etc).file(path, key: "password_file")
    }

    @Test func serviceFindsItsCredentialFirst() throws {
        try top.write("old", to: "etc/password")
        #expect(try find("\(etc)/password", run) == "\(etc)/password")
        // systemd puts the name of LoadCredential= before the names of the directory's files.
        try top.write("new", to: "run/jostle_password")
        #expect(try find("\(etc)/password", run) == "\(run)/jostle_password")
        #expect(try find("password", run) == "\(run)/jostle_password")
        #expect(try find("credential:password", run) == "\(run)/jostle_password")
        try top.write("newest", to: "run/password")
        #expect(try find("\(etc)/password", run) == "\(run)/password")
        // What the unit sets in case there is no directory.
        try top.write("none", to: "run/jostle")
        #expect(try find("\(etc)/jostle", run) == "\(etc)/jostle")
        // Another directory is meant as it is written.
        #expect(try find("\(etc)/tls/password", run) == "\(etc)/tls/password")
        #expect(try find("/srv/password", run) == "/srv/password")
    }

    /// A command of root, such as `jostle check-config`, has no credentials of its own.
    @Test func otherProgramsFindTheSource() throws {
        #expect(try find("\(etc)/password", nil) == "\(etc)/password")
        #expect {
            try find("credential:password", nil)
        } throws: { error in
            "\(error)".contains("there is none in \(etc)/credentials")
        }
        try top.write("new", to: "etc/credentials/password")
        #expect(try find("\(etc)/password", nil) == "\(etc)/credentials/password")
        #expect(try find("credential:password", nil) == "\(etc)/credentials/password")
        // The service has what systemd passed to it at the start.
        #expect(try find("\(etc)/password", run) == "\(etc)/password")
    }

    @Test func saysWhoMayRead() throws {
        let files = CredentialFiles(directory: nil, configuration: etc)
        #expect(files.advice(afterErrno: ENOENT).isEmpty)
        #expect(files.advice(afterErrno: EACCES).isEmpty)
        // Root may enter any directory.
        guard geteuid() != 0 else { return }
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: "\(etc)/credentials")
        #expect(files.advice(afterErrno: ENOENT).contains("only root and the service can read it"))
    }
}
