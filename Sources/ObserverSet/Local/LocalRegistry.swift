import Synchronization

/// The observers of a local set, made when it is first observed.
///
/// The set holds it, and so do tokens; it holds neither. It is used in one isolation domain, so nothing is locked, and
/// the slots' atomic words are only loaded and stored.
///
/// User code runs in three places: in the call of an observer; where a weak reference to an owner is loaded, since
/// dropping the loaded reference may deallocate the owner; and where a removed observer is released. That code may do
/// anything, to this registry too. Therefore observers are called and weak references loaded only in a *traversal*,
/// between `begin()` and `end()`. During a traversal, removed observers and replaced blocks are kept in `waiting`, so
/// that what the traversal reaches stays in place. And before anything is released, it has been taken out of everything
/// from which other code could reach it.
@safe final class LocalRegistry {
    private let slots = Slots()
    private var counts = SlotCounts()
    private var traversals: UInt32 = 0
    /// Whether there is anything in `waiting`.
    ///
    /// A flag, because reading `waiting` itself would make each notification ask the runtime for exclusive access.
    /// Declared here, where it takes no space.
    private var isAnythingWaiting = false
    /// Whether a notification has met the entry of a dead owner, which is still to be removed.
    private var hasMetDeadOwner = false
    private var lastID: UInt64 = 0
    /// The observers and memory that were removed or replaced during a traversal.
    private var waiting = Retired()
    /// The notification that began last, while any has observers left to call; it points to the first of those.
    private var latest = unsafe UnsafeMutablePointer<Pass>?.none

    // MARK: Calling

    /// A notification under way, on the stack of its `notify`.
    @unsafe struct Pass {
        /// At the first slot.
        fileprivate let start: Cursor
        /// Whose observer is being called; nil before the first call.
        fileprivate var slot: UnsafeMutablePointer<Slot>?
        fileprivate var parameters: UnsafeRawPointer?
        /// The notification that began after this one.
        fileprivate var next: UnsafeMutablePointer<Pass>?

        @inline(__always)
        init(in registry: LocalRegistry) { unsafe start = unsafe registry.begin() }
    }

    /// Calls every observer that is registered now, in order, unless it is removed before its turn.
    ///
    /// - Parameters:
    ///   - parameters: The value.
    ///   - pointer: The same, for nested notifications.
    @inline(never)
    func notify<Parameters>(_ parameters: Parameters, at pointer: UnsafePointer<Parameters>) {
        var pass = unsafe Pass(in: self)
        unsafe notify(parameters, at: pointer, &pass)
    }

    /// The same for the observers that were registered when the pass was made.
    ///
    /// First it finishes what is under way: if an observer notifies again, the others receive the first value first. So each
    /// observer receives all values in the order in which they were notified.
    @inline(__always)
    func notify<Parameters>(
        _ parameters: Parameters, at pointer: UnsafePointer<Parameters>, _ own: UnsafeMutablePointer<Pass>
    ) {
        // Not inlined, so that in a debug build nested notifications need no stack for it.
        if unsafe enqueue(own, pointer) { unsafe finishEarlier(than: own, Parameters.self) }
        // Otherwise a notification that was nested in those calls has finished this one, too.
        if unsafe latest != nil { unsafe call(from: own.pointee.start, own, parameters) }
        conclude()
    }

    /// Notes that a notification is under way; true if others have observers left to call.
    private func enqueue(_ own: UnsafeMutablePointer<Pass>, _ parameters: UnsafeRawPointer) -> Bool {
        let earlier = unsafe latest
        unsafe own.pointee.parameters = unsafe parameters
        unsafe own.pointee.next = unsafe earlier?.pointee.next ?? own
        unsafe earlier?.pointee.next = own
        unsafe latest = own
        return unsafe earlier != nil
    }

    private func conclude() {
        unsafe latest = nil
        end()
        if hasMetDeadOwner { removeDead() }
    }

    /// Finishes what a nested notification is to follow.
    @inline(never)
    private func finishEarlier<Parameters>(than own: UnsafeMutablePointer<Pass>, _: Parameters.Type) {
        while let first = unsafe latest?.pointee.next, unsafe first != own {
            var cursor = unsafe first.pointee.start
            if let slot = unsafe first.pointee.slot { unsafe cursor.move(behind: slot) }
            let parameters = unsafe first.pointee.parameters.unsafelyUnwrapped
            unsafe call(from: cursor, first, parameters.load(as: Parameters.self))
            unsafe first.pointee.slot = nil
            unsafe latest?.pointee.next = first.pointee.next
        }
    }

    /// Calls the observers from a slot on, unless a nested notification does.
    @inline(__always)
    private func call<Parameters>(
        from cursor: Cursor, _ pass: UnsafeMutablePointer<Pass>, _ parameters: Parameters
    ) {
        var cursor = unsafe cursor
        var isPlain = false
        while let slot = unsafe cursor.next(&isPlain) {
            unsafe pass.pointee.slot = slot
            if _fastPath(isPlain) {
                unsafe BorrowedFunction.at(slot).pointee(parameters)
            } else {
                unsafe callSpecial(slot, parameters)
            }
            // Then a nested notification has finished this one.
            if unsafe pass.pointee.slot != slot { break }
        }
    }

    /// Calls an observer that has an owner, or is called once.
    @inline(never)
    private func callSpecial<Parameters>(_ slot: UnsafeMutablePointer<Slot>, _ parameters: Parameters) {
        // Removed before it is called, so that a nested notification does not reach it.
        if unsafe slot.pointee.isOnce { unsafe retire(slot) }
        guard unsafe slot.pointee.callee.hasEntry else { return unsafe BorrowedFunction.at(slot).pointee(parameters) }
        // Its entries do not ask who notifies.
        var notifier = Notifier(identity: 0)
        if unsafe !BorrowedEntry.at(slot).pointee.deliver(parameters, by: &notifier) { hasMetDeadOwner = true }
    }

    // MARK: Changing

    /// Adds an observer, and returns the id of its registration.
    func append(_ callee: Callee, site: Site, isOnce: Bool) -> UInt64 {
        if slots.isFull(counts) { moveToFreshBlock() }
        lastID += 1
        let id = lastID
        unsafe slots[Int(counts.taken)].pointee.publish(callee, id: id, site: site, isOnce: isOnce)
        if counts.add(mayDie: callee.hasEntry) { removeDead() }
        return id
    }

    /// Ends a registration; false if it had ended before, or its owner is dead.
    func end(_ id: UInt64) -> Bool {
        guard var slot = unsafe slots.living(id, among: counts.taken) else { return false }
        var isAlive = true
        if unsafe slot.pointee.callee.hasEntry {
            _ = unsafe begin()
            isAlive = unsafe slot.pointee.isAlive
            end()
            // Loading the owner may have led to its `deinit`, which may have ended the registration or replaced the
            // block.
            guard let again = unsafe slots.living(id, among: counts.taken) else { return false }
            unsafe slot = unsafe again
        }
        guard traversals == 0 else {
            unsafe retire(slot)
            return isAlive
        }
        let callee = unsafe slot.pointee.callee
        unsafe slot.pointee.markRemoved()
        counts.living -= 1
        tidyUp()
        callee.release()
        return isAlive
    }

    /// Ends all registrations.
    func removeAll() {
        _ = removeAll { _ in true }
    }

    /// Ends all registrations of an owner, and returns how many there were.
    func removeAll(ownedBy owner: AnyObject) -> Int {
        removeAll { $0.callee.entry?.owner === owner }
    }

    /// Removes the entries of dead owners.
    ///
    /// Called after a notification that met one, and after so many owners were added that the cost is O(1) for each.
    private func removeDead() {
        // First, since loading an owner may lead to its `deinit`, which may add observers.
        counts.addedSinceSweep = 0
        hasMetDeadOwner = false
        _ = removeAll { $0.isDead }
    }

    private func removeAll(where shouldRemove: (borrowing Slot) -> Bool) -> Int {
        var removed = 0
        unsafe forEachLiving { slot in
            // Loading the owner may have led to its `deinit`, which may have ended the registration.
            if unsafe shouldRemove(slot.pointee) && slot.pointee.isLiving {
                unsafe retire(slot)
                removed += 1
            }
        }
        return removed
    }

    // MARK: Queries

    /// The number of observers whose owner, if they have one, is alive.
    var count: Int {
        var count = 0
        unsafe forEachLiving { if unsafe $0.pointee.isAlive { count += 1 } }
        return count
    }

    /// A line for each observer whose owner, if it has one, is alive.
    var listing: Listing {
        var listing = Listing()
        unsafe forEachLiving { if let line = unsafe $0.pointee.description { listing.append(line) } }
        return listing
    }

    /// The line for that registration; nil if it has ended, or its owner is dead.
    func description(of id: UInt64) -> String? {
        _ = unsafe begin()
        defer { end() }
        return unsafe slots.living(id, among: counts.taken)?.pointee.description
    }

    /// Whether that registration has not ended, and its owner, if it has one, is alive.
    func isActive(_ id: UInt64) -> Bool {
        _ = unsafe begin()
        defer { end() }
        return unsafe slots.living(id, among: counts.taken)?.pointee.isAlive ?? false
    }

    // MARK: Traversals

    /// Runs `body` for every living slot, in order, in a traversal.
    private func forEachLiving(_ body: (UnsafeMutablePointer<Slot>) -> Void) {
        var cursor = unsafe begin()
        while let slot = unsafe cursor.next() { unsafe body(slot) }
        end()
    }

    /// Begins a traversal of the observers that are registered now.
    @inline(__always)
    fileprivate func begin() -> Cursor {
        traversals += 1
        return unsafe Cursor(slots, upTo: lastID)
    }

    @inline(__always)
    private func end() {
        traversals -= 1
        if traversals == 0, isAnythingWaiting { releaseWaiting() }
    }

    /// Called after the outermost traversal.
    @inline(never)
    private func releaseWaiting() {
        let released = waiting.take()
        isAnythingWaiting = false
        tidyUp()
        // No code can reach it any more, whatever the `deinit` of a capture does.
        released.release()
    }

    /// Removes a living slot's observer during a traversal.
    ///
    /// The observer is not called from now on; what the slot holds stays until the outermost traversal has ended.
    private func retire(_ slot: UnsafeMutablePointer<Slot>) {
        let id = unsafe slot.pointee.id
        unsafe slot.pointee.markRemoved()
        // If the block was replaced during the traversal, the observer has slots in several blocks: marks those, too.
        unsafe slots.living(id, among: counts.taken)?.pointee.markRemoved()
        _ = waiting.markRemoved(id)
        counts.living -= 1
        unsafe waiting.append(slot.pointee.callee)
        isAnythingWaiting = true
        if slots.areWasteful(counts) { moveToFreshBlock() }
    }

    /// Called after observers were removed, outside traversals.
    private func tidyUp() {
        slots.trim(&counts)
        if slots.areWasteful(counts) { moveToFreshBlock() }
    }

    private func moveToFreshBlock() {
        let old = unsafe slots.block
        unsafe slots.head.store(slots.freshBlock(&counts)?.memory, ordering: .relaxed)
        guard let old = unsafe old else { return }
        guard traversals > 0 else { return unsafe old.deallocate() }
        unsafe waiting.blocks.append(old)
        isAnythingWaiting = true
    }
}

extension Slot {
    /// For example `View, registered at Player/View.swift:12`; nil if the owner is dead.
    fileprivate var description: String? {
        guard let owner = callee.entry.map(\.ownerDescription) ?? "closure" else { return nil }
        return "\(owner), registered at \(site)"
    }
}
