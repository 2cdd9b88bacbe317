import Synchronization

/// A target without a function: an object, held weakly, and memory that a layer keeps with it.
///
/// It has no owner. A token would load an owner on any thread, and could drop the last reference to an object that
/// belongs to one isolation domain. Only code that runs where the objects may be used learns that one is dead: a
/// traversal, and adding another object.
@safe final class WeakTarget: AnyTarget, @unchecked Sendable {
    fileprivate weak let object: AnyObject?
    /// The address of the object, even if the object has been deallocated.
    let address: ObjectIdentifier
    /// Never changed, and freed with the target.
    fileprivate let memory: UnsafeMutableRawPointer?

    fileprivate init(_ object: AnyObject, _ memory: UnsafeMutableRawPointer?) {
        self.object = object
        address = ObjectIdentifier(object)
        unsafe self.memory = unsafe memory
    }

    deinit { unsafe memory?.deallocate() }

    override var traits: UInt { Self.isWeak }
    /// Without its class: a token may be described where the object must not be loaded.
    override var ownerDescription: String? { "delegate" }

    override var isDead: Bool {
        LockCheck.assertNoLockIsHeld()
        return object == nil
    }

    /// Whether it is that of the object, and not of a dead one that had its address.
    func isOf(_ object: AnyObject) -> Bool {
        LockCheck.assertNoLockIsHeld()
        return self.object === object
    }
}

/// A registry of weakly held objects, for layers that call them in their own way.
///
/// It has no other targets, and one for each object. Callers must run where the objects may be used.
extension Registry {
    /// Registers an object, unless it is registered already, and returns the token of its registration.
    ///
    /// Takes amortised O(1), plus O(log *n*) if the object is registered already. `memory` makes what is kept with the
    /// object, and freed with its target.
    package func add(_ object: AnyObject, site: Site, memory: () -> UnsafeMutableRawPointer?) -> ObserverToken {
        if let known = target(at: object) {
            if known.target.isOf(object) { return ObserverToken(issuer: self, id: known.id) }
            // It is that of a dead object which had the same address.
            _ = remove(known.id, nil)
        }
        // From here on any target at this address is this object's: no other object has it now.
        let target = unsafe WeakTarget(object, memory())
        let (id, shouldSweep) = write { contents, cleanup in
            if let id = contents.rare?.idsByAddress[ObjectIdentifier(object)] { return (id, false) }
            let added = insert(Callee(retaining: target), site: site, &contents, &cleanup)
            contents.madeRare().idsByAddress[ObjectIdentifier(object)] = added.id
            return added
        }
        if shouldSweep { _ = remove(deadIDs()) }
        return ObserverToken(issuer: self, id: id)
    }

    /// Ends an object's registration; false if it has none, or is being deallocated, as it is in its own `deinit`.
    package func remove(_ object: AnyObject) -> Bool {
        guard let (id, target) = target(at: object) else { return false }
        // False if the target is that of a dead object which had the same address.
        let isAlive = target.isOf(object)
        return remove(id, nil) && isAlive
    }

    /// A traversal of the objects that are registered now.
    ///
    /// The caller must hold the registry until the traversal has ended.
    package func traversal() -> Traversal {
        // Acquiring, as in `notify`: an object that another thread removes and adds again is not met twice.
        unsafe Traversal(.passUnretained(self), upTo: lastID.load(ordering: .acquiring))
    }

    /// The target of the object, or of a dead one that had its address.
    private func target(at object: AnyObject) -> (id: UInt64, target: WeakTarget)? {
        write { contents, _ in
            guard let id = contents.rare?.idsByAddress[ObjectIdentifier(object)] else { return nil }
            return unsafe slots.living(id)?.pointee.callee.registration.map { target in
                unsafe (id, unsafeDowncast(target, to: WeakTarget.self))
            }
        }
    }
}

extension Traversal {
    /// An object, retained, and the memory that is kept with it.
    @usableFromInline package typealias Object = (object: AnyObject, memory: UnsafeMutableRawPointer?)

    /// The next object that is alive, in the order of registration.
    ///
    /// Objects that were added since the traversal began, or removed before their turn, are skipped. The targets of
    /// objects that are found dead are removed after the traversal.
    @usableFromInline
    package mutating func nextObject() -> Object? {
        guard let slot = unsafe next() else { return nil }
        return unsafe Self.object(in: slot) ?? nextBehindDead()
    }

    // A function of its own, so that the registers that it needs are not saved and restored for each object.
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
        LockCheck.assertNoLockIsHeld()
        // Sound, since a registry of weakly held objects has no other targets.
        return unsafe slot.pointee.registration(as: WeakTarget.self)._withUnsafeGuaranteedRef { target in
            unsafe target.object.map { unsafe ($0, target.memory) }
        }
    }
}
