/// The devices that this machine knows, whatever the broker says: where there are too many, they are kept first.
package struct KnownDevices: Equatable, Sendable {
    /// Those that were enrolled here, that a command names, or whose layer or groups are in the history.
    package var known: Set<String>
    /// Those that the last command found that had room for all.
    package var seen: Set<String>

    package init(known: Set<String> = [], seen: Set<String> = []) {
        self.known = known
        self.seen = seen
    }
}
