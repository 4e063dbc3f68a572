internal import MotionCore

/// The deadlines of many members, of which the earliest is found at once: a binary heap with the place of each member.
struct DeadlineHeap: Sendable {
    private var heap: [(deadline: Timestamp, member: Int)] = []
    /// Where each member is in `heap`; -1 if it has no deadline.
    private var places: [Int] = []

    /// The earliest deadline and its member; `nil` if there is none.
    var first: (deadline: Timestamp, member: Int)? { heap.first }

    /// Sets or, with `nil`, removes the deadline of a member, a number from 0.
    mutating func set(_ deadline: Timestamp?, of member: Int) {
        while places.count <= member { places.append(-1) }
        let place = places[member]
        switch (deadline, place) {
        case (nil, -1): return
        case (nil, _): remove(at: place)
        case (let deadline?, -1):
            heap.append((deadline, member))
            places[member] = heap.count - 1
            rise(from: heap.count - 1)
        case (let deadline?, _):
            heap[place].deadline = deadline
            rise(from: place)
            sink(from: places[member])
        }
    }

    private mutating func remove(at place: Int) {
        let last = heap.count - 1
        if place != last { swap(place, last) }
        places[heap.removeLast().member] = -1
        guard place < heap.count else { return }
        let moved = heap[place].member
        rise(from: place)
        sink(from: places[moved])
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        heap.swapAt(one, other)
        places[heap[one].member] = one
        places[heap[other].member] = other
    }

    private mutating func rise(from start: Int) {
        var place = start
        while place > 0, heap[place].deadline < heap[(place - 1) / 2].deadline {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink(from start: Int) {
        var place = start
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < heap.count && heap[child].deadline < heap[least].deadline { least = child }
            guard least != place else { return }
            swap(place, least)
            place = least
        }
    }
}
