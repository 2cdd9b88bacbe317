/// An event that both worlds report, so that it can be compared; packed, since a run reports many millions.
struct Occurrence: Equatable, CustomStringConvertible {
    enum Tag: UInt64 {
        /// An observer is called, an awaited call resumes or returns (the value says whether it has been cancelled), or a
        /// loop receives an element (the value is `end` at the stream's end).
        case called, calledInside, methodCalled, resumed, returned, element
        /// The function of a `map`, `compactMap` or `filter` is called, or that of a set's producer.
        case transformed, observed
        /// The value is the operation in which a capture, what a value carries, or an owner was deallocated.
        case captureDied, cargoDied, ownerDied
        case removed, removedOwned, counted, described, isActive, pending, dropped
        /// A caller of `settled()`, or of `removeAndWait()`, goes on.
        case settled, waited
        /// An operation inside user code begins; a token has been put into a bag.
        ///
        /// Without these, a deallocation before an operation that reports nothing could be mistaken for one after it.
        case began, stored
    }

    static let end = 0xFFF_FFFF

    let bits: UInt64

    init(_ tag: Tag, _ subject: Int, _ value: Int) {
        bits = tag.rawValue << 56 | UInt64(truncatingIfNeeded: subject & Self.end) << 28 | UInt64(value & Self.end)
    }

    init(_ tag: Tag, _ subject: Int, _ value: Bool) { self.init(tag, subject, value ? 1 : 0) }

    var tag: Tag { Tag(rawValue: bits >> 56)! }
    var subject: Int { Int(bits >> 28 & 0xFFF_FFFF) }
    var value: Int { Int(bits & 0xFFF_FFFF) }

    var description: String { "\(tag) \(subject): \(value)" }

    static func == (left: Self, right: Self) -> Bool { left.bits == right.bits }
}
