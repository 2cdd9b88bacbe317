import Synchronization

/// A target without a function: a weakly held object, and memory that a layer keeps with it.
///
/// The object doesn't count as the target's owner. If it did, a token would load it on any thread, and could release
/// the last reference to an object that belongs to one isolation domain. Only code that runs where the objects may be
/// used finds out that one is dead: a traversal, and adding another object.
@safe final class WeakObject: AnyTarget, @unchecked Sendable {
    fileprivate weak let object: AnyObject?
    /// The object's address, even after the object has been deallocated.
    let address: ObjectIdentifier
    /// The layer's memory, which never changes, and is freed with the target.
    fileprivate let layerMemory: UnsafeMutableRawPointer?

    fileprivate init(_ object: AnyObject, _ layerMemory: UnsafeMutableRawPointer?) {
        self.object = object
        address = ObjectIdentifier(object)
        unsafe self.layerMemory = layerMemory
    }

    deinit { unsafe layerMemory?.deallocate() }

    override var traits: UInt { Self.isWeak }
    /// A fixed word in place of the object's class, because a token may be described where the object must not be
    /// loaded.
    override var ownerDescription: String? { "delegate" }

    override var shouldBeSwept: Bool {
        LockCheck.assertNoLockIsHeld()
        return object == nil
    }

    /// Whether this is the target of `object`, and not of a dead object that had the same address.
    func holds(_ object: AnyObject) -> Bool {
        LockCheck.assertNoLockIsHeld()
        return self.object === object
    }
}

/// A registry of weakly held objects, for layers that call them in their own way.
///
/// Such a registry has one target for each object, and no other targets. Callers must run where the objects may be
/// used.
extension Registry {
    /// Registers an object, unless it is already registered, and returns the token of its registration.
    ///
    /// This takes amortised O(1), plus O(log *n*) if the object is already registered. `memory` makes what is kept with
    /// the object, and what is freed with its target.
    package func add(_ object: AnyObject, site: Site, memory: () -> UnsafeMutableRawPointer?) -> ObserverToken {
        if let known = target(for: object) {
            if known.target.holds(object) { return ObserverToken(issuer: self, id: known.id) }
            // This target belongs to a dead object that had the same address.
            _ = remove(known.id, nil)
        }
        // From here on, any target at this address is this object's, because no other object can have the address now.
        let target = unsafe WeakObject(object, memory())
        let (id, shouldSweep) = write { contents, cleanup in
            if let id = contents.rare?.idsByAddress[ObjectIdentifier(object)] { return (id, false) }
            let added = insert(Callee(retaining: target), site: site, &contents, &cleanup)
            contents.madeRare().idsByAddress[ObjectIdentifier(object)] = added.id
            return added
        }
        if shouldSweep { _ = remove(deadIDs()) }
        return ObserverToken(issuer: self, id: id)
    }

    /// Ends an object's registration; returns false if it has none.
    ///
    /// If the object is being deallocated (that is, in its own `deinit`), this ends the registration, but returns
    /// false.
    package func remove(_ object: AnyObject) -> Bool {
        guard let (id, target) = target(for: object) else { return false }
        // This is false if the target belongs to a dead object that had the same address.
        let isAlive = target.holds(object)
        return remove(id, nil) && isAlive
    }

    /// A traversal of the objects that are registered now.
    ///
    /// The caller must keep the registry alive until the traversal has ended.
    package func traversal() -> Traversal {
        // This load is acquiring, as in `notify`, and paired with the releasing store in `insert`, so that an object
        // that another thread removes and adds again isn't met twice.
        unsafe Traversal(.passUnretained(self), upTo: lastID.load(ordering: .acquiring))
    }

    /// The target of `object`, or of a dead object that had the same address.
    private func target(for object: AnyObject) -> (id: UInt64, target: WeakObject)? {
        write { contents, _ in
            guard let id = contents.rare?.idsByAddress[ObjectIdentifier(object)] else { return nil }
            return unsafe slots.registered(id)?.pointee.callee.registration.map { target in
                unsafe (id, unsafeDowncast(target, to: WeakObject.self))
            }
        }
    }
}

extension Traversal {
    /// A retained object, and the memory that is kept with it.
    @usableFromInline package typealias Object = (object: AnyObject, memory: UnsafeMutableRawPointer?)

    /// The next object that is alive, in the order of registration.
    ///
    /// The traversal skips objects that were added after it began, and those that are removed before their turn. If it
    /// finds objects dead, it tries to remove their targets when it ends.
    @usableFromInline
    package mutating func nextObject() -> Object? {
        guard let slot = unsafe next() else { return nil }
        return unsafe Self.object(in: slot) ?? nextBehindDead()
    }

    // This is a separate function, so that the registers that it needs aren't saved and restored for each object.
    @inline(never)
    private mutating func nextBehindDead() -> Object? {
        metDead = true
        while let slot = unsafe next() {
            if let object = unsafe Self.object(in: slot) { return unsafe object }
        }
        return nil
    }

    /// The object in a slot, retained, and the memory that a layer keeps with it; nil if the object is dead.
    @inline(__always)
    private static func object(in slot: UnsafeMutablePointer<Slot>) -> Object? {
        LockCheck.assertNoLockIsHeld()
        // This is sound, because a registry of weakly held objects has no other targets.
        return unsafe slot.pointee.registration(as: WeakObject.self)._withUnsafeGuaranteedRef { target in
            unsafe target.object.map { unsafe ($0, target.layerMemory) }
        }
    }
}
