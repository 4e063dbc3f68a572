internal import CLinuxSystem

/// The standard output of the C library, to which `print` writes.
package enum StandardOutput {
    /// Flushes it, and returns whether everything since the start was written: fflush(3), ferror(3).
    package static func isWritten() -> Bool { jostle_standard_output_is_written() != 0 }
}
