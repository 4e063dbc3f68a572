/// How well a device is known.
enum DeviceRank: Int, CaseIterable, Comparable, Sendable {
    /// Only its own messages name it.
    case claimed
    /// This machine saw it when all devices had a place.
    case seen
    /// The broker holds a layer or groups for it.
    case documented
    /// It was enrolled on this machine, or is in its history.
    case known

    static func < (one: DeviceRank, other: DeviceRank) -> Bool { one.rawValue < other.rawValue }
}

/// The members of a list with a limit: if there are more, the better known ones are kept, and among equals those that came
/// first.
///
/// Anybody who may publish can invent names, so a name alone must not cost a known member its place.
struct RankedMembers<Member: Hashable & Sendable>: Sendable {
    /// The most members that are counted although they are left out.
    static var maximumLeftOut: Int { 100_000 }

    private let limit: Int
    /// The members by their ranks.
    private var members: [Set<Member>] = Array(repeating: [], count: DeviceRank.allCases.count)
    /// The hashes of those that are left out.
    private var leftOut: Set<Int> = []

    init(limit: Int) {
        self.limit = limit
    }

    private var count: Int { members.reduce(0) { $0 + $1.count } }

    /// How many are left out, at most 100,000.
    var leftOutCount: Int { leftOut.count }

    /// Whether a new member would be taken in. It counts as left out if not.
    mutating func hasRoom(for member: Member, _ rank: DeviceRank) -> Bool {
        if count < limit || members[..<rank.rawValue].contains(where: { !$0.isEmpty }) { return true }
        leaveOut(member)
        return false
    }

    /// Takes a new member in for which there is room.
    ///
    /// - Returns: the member that is left out instead, if there is one.
    mutating func admit(_ member: Member, _ rank: DeviceRank) -> Member? {
        let removed = count < limit ? nil : remove(below: rank)
        members[rank.rawValue].insert(member)
        leftOut.remove(member.hashValue)
        return removed
    }

    /// A member is better known than it was.
    mutating func raise(_ member: Member, to rank: DeviceRank) {
        guard members[..<rank.rawValue].contains(where: { $0.contains(member) }) else { return }
        for lower in 0..<rank.rawValue { members[lower].remove(member) }
        members[rank.rawValue].insert(member)
    }

    /// Removes one of the least known members below a rank; `nil` if there is none.
    mutating func remove(below rank: DeviceRank) -> Member? {
        for lower in 0..<rank.rawValue {
            guard let member = members[lower].popFirst() else { continue }
            leaveOut(member)
            return member
        }
        return nil
    }

    /// Counts a member that is left out.
    mutating func leaveOut(_ member: Member) {
        if leftOut.count < RankedMembers.maximumLeftOut { leftOut.insert(member.hashValue) }
    }

    /// Forgets a member that is gone, or that was left out.
    mutating func forget(_ member: Member) {
        for rank in members.indices { members[rank].remove(member) }
        leftOut.remove(member.hashValue)
    }
}
