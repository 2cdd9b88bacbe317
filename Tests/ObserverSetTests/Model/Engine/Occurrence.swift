/// An event that both worlds report, so that it can be compared; packed, since a run reports many millions.
struct Occurrence: Equatable, CustomStringConvertible {
    enum Tag: UInt64 {
        case called, methodCalled, captureDied, removed, removedOwned, counted, isEmpty, isActive
        /// The value is the actor on which the owner was deallocated: a task may have kept it a little longer than a call
        /// that has released it.
        case ownerDied
        /// An awaited call resumes, or returns; the value says whether it has been cancelled.
        case resumed, returned
        case settled, lost
        /// An operation inside an observer or a `deinit` begins.
        ///
        /// Without this, a deallocation before an operation that reports nothing could be mistaken for one after it.
        case began
    }

    let bits: UInt64

    init(_ tag: Tag, _ subject: Int, _ value: Int) {
        bits = tag.rawValue << 56 | UInt64(truncatingIfNeeded: subject) << 28 | UInt64(truncatingIfNeeded: value)
    }

    init(_ tag: Tag, _ subject: Int, _ value: Bool) { self.init(tag, subject, value ? 1 : 0) }

    var subject: Int { Int(bits >> 28 & 0xFFF_FFFF) }
    var value: Int { Int(bits & 0xFFF_FFFF) }

    func isAbout(_ tag: Tag, _ subject: Int) -> Bool { bits >> 28 == Occurrence(tag, subject, 0).bits >> 28 }

    var description: String {
        let tag = Tag(rawValue: bits >> 56).map { "\($0)" } ?? "?"
        return "\(tag) \(subject): \(value)"
    }

    static func == (left: Self, right: Self) -> Bool { left.bits == right.bits }
}
