import Synchronization

/// An entry without a function: an object, held weakly, and what a layer keeps with it.
///
/// It has no owner. Tokens would load that on any thread, and might thus be the last to let go of an object that belongs to
/// somebody's isolation. Only who is where the objects may be used finds one dead: who makes a traversal, and who adds one.
@safe final class WeakEntry: AnyEntry, @unchecked Sendable {
    fileprivate weak let object: AnyObject?
    private let key: ObjectIdentifier
    /// Only read, and freed with the entry.
    fileprivate let memory: UnsafeMutableRawPointer?

    fileprivate init(_ object: AnyObject, _ memory: UnsafeMutableRawPointer?) {
        self.object = object
        key = ObjectIdentifier(object)
        unsafe self.memory = unsafe memory
    }

    deinit {
        unsafe memory?.deallocate()
    }

    override var address: ObjectIdentifier? { key }
    override var mayDie: Bool { true }

    override var isDead: Bool {
        CallOut.assertNoLockIsHeld()
        return object == nil
    }

    override func isOf(_ object: AnyObject) -> Bool {
        CallOut.assertNoLockIsHeld()
        return self.object === object
    }
}

/// A callee that is such an entry, as a traversal sees it in its slot: borrowed, like a `BorrowedEntry`.
///
/// Sound where a registry has no other entries.
@unsafe private struct BorrowedWeakEntry: ~Copyable {
    let code: UInt
    let entry: WeakEntry

    @inline(__always)
    static func at(_ slot: UnsafeMutablePointer<Slot>) -> UnsafeMutablePointer<BorrowedWeakEntry> {
        unsafe UnsafeMutableRawPointer(slot).assumingMemoryBound(to: BorrowedWeakEntry.self)
    }
}

/// What layers do with objects that they tell on their own terms.
///
/// A registry of objects has no other entries, and of each object one. All this is for callers who are where the objects may
/// be used.
extension Registry {
    /// Registers an object, unless it is there already, and returns the token of its registration.
    ///
    /// In amortised O(1), plus O(log *n*) if it is there already. `memory` makes what is kept with the object, and freed with
    /// its entry.
    package func add(_ object: AnyObject, site: Site, memory: () -> UnsafeMutableRawPointer?) -> ObserverToken {
        let known = entry(at: object)
        if let known, known.entry.isOf(object) { return ObserverToken(issuer: self, id: known.id) }
        // What stands there is of an object that is dead. Whatever else comes to stand there is of this one, since no other
        // has its address now.
        let entry = unsafe WeakEntry(object, memory())
        let (id, isCrowded) = write { contents, after in
            if let id = contents.backlog?.ids[ObjectIdentifier(object)] {
                guard id == known?.id else { return (id, false) }
                _ = remove(id, &contents, &after)
            }
            let added = insert(Callee(retaining: entry), site: site, mayDie: true, &contents, &after)
            contents.madeBacklog().ids[ObjectIdentifier(object)] = added.id
            return added
        }
        if isCrowded { _ = remove(deadOnes()) }
        return ObserverToken(issuer: self, id: id)
    }

    /// Ends the registration of an object; false if it has none, or is dead, as it is in its own `deinit`.
    package func remove(_ object: AnyObject) -> Bool {
        guard let (id, entry) = entry(at: object) else { return false }
        // Not so, if it is of one that had the address before.
        let isAlive = entry.isOf(object)
        return end(id) && isAlive
    }

    /// A traversal of those who are there now.
    ///
    /// Whoever makes it holds the registry until it has ended.
    package func traversal() -> Traversal {
        unsafe Traversal(.passUnretained(self), upTo: lastID.load(ordering: .relaxed))
    }

    /// The entry of the object, or of a dead one that had its address.
    private func entry(at object: AnyObject) -> (id: UInt64, entry: AnyEntry)? {
        write { contents, _ in
            guard let id = contents.backlog?.ids[ObjectIdentifier(object)] else { return nil }
            return unsafe slots.living(id)?.pointee.callee.entry.map { entry in (id, entry) }
        }
    }
}

extension Traversal {
    /// An object, which whoever has it holds, and what is kept with it.
    @usableFromInline package typealias Object = (object: AnyObject, memory: UnsafeMutableRawPointer?)

    /// The next object that is alive, in the order of registration.
    ///
    /// Objects that were added since the traversal began, or removed before their turn, are left out. The entries of those that
    /// are found dead are removed when it has ended.
    @usableFromInline
    package mutating func nextObject() -> Object? {
        guard let slot = unsafe next() else { return nil }
        return unsafe Self.object(in: slot) ?? nextBehindDead()
    }

    // By itself, so that what it needs is not saved and restored for each object.
    @inline(never)
    private mutating func nextBehindDead() -> Object? {
        metDead = true
        while let slot = unsafe next() {
            if let object = unsafe Self.object(in: slot) { return unsafe object }
        }
        return nil
    }

    @inline(__always)
    private static func object(in slot: UnsafeMutablePointer<Slot>) -> Object? {
        CallOut.assertNoLockIsHeld()
        guard let object = unsafe BorrowedWeakEntry.at(slot).pointee.entry.object else { return nil }
        return unsafe (object, BorrowedWeakEntry.at(slot).pointee.entry.memory)
    }
}
