internal import CMosquitto

/// The version of libmosquitto that is loaded, such as 2.0.21 (`mosquitto_lib_version`).
package var libmosquittoVersion: String {
    var (major, minor, revision): (Int32, Int32, Int32) = (0, 0, 0)
    _ = mosquitto_lib_version(&major, &minor, &revision)
    return "\(major).\(minor).\(revision)"
}
