/// The delegates of a multicast, whatever their type: each is an observer of one set, and found by its object.
///
///     MulticastDelegate ──▶ DelegateSeats ──▶ ObserverSet ──▶ observer ──▶ DelegateSeat ┄┄weak┄┄▶ delegate
///                                 └──▶ seats by address ────────────────────────▲
///
/// The set gives the order, the tokens, the walk without a lock, and what may be done during one. Its observers have no
/// owner, since a token would look at that from any thread, and might thus run the `deinit` of a delegate that belongs
/// to another. What they lack for it is done here: the dead are met by a visit, or looked for when so many were added.
@usableFromInline
final class DelegateSeats: Sendable {
    private struct Taken: Sendable {
        let seat: DelegateSeat
        let token: ObserverToken
    }

    private struct State: Sendable {
        /// By the object's address, which another may have had before: whoever finds a seat looks whose it is.
        var taken: [ObjectIdentifier: Taken] = [:]
        /// How many seats there may be before the dead are looked for.
        var examineAt = 32
    }

    private let set = ObserverSet<DelegateVisit>()
    private let state = Lock(State())

    /// Gives the delegate a seat, unless it has one, and returns the token of its registration.
    func add<Delegate>(
        _ delegate: Delegate, object: AnyObject, fileID: StaticString, line: UInt
    ) -> ObserverToken {
        let key = ObjectIdentifier(object)
        while true {
            let known = state.withLock { $0.taken[key] }
            if let known, known.seat.isOf(object), known.token.isActive { return known.token }
            // What stands there is of an object that died, or was removed. Whatever else comes to stand there is of this one,
            // which is alive here: no other has its address now.
            let seat = DelegateSeat(delegate, object: object, site: Site(fileID: fileID, line: line))
            let token = set.addNonisolated({ visit in seat.receive(visit) }, fileID: fileID, line: line)
            let (isOurs, isCrowded) = state.withLock { state in
                guard state.taken[key]?.token == known?.token || state.taken[key] == nil else { return (false, false) }
                state.taken[key] = Taken(seat: seat, token: token)
                seat.take()
                return (true, state.taken.count >= state.examineAt)
            }
            if isOurs {
                known?.token.remove()
                if isCrowded { removeDead() }
                return token
            }
            // Another thread was quicker.
            token.remove()
        }
    }

    /// Takes the object's seat away, and returns whether it had one.
    func remove(_ object: AnyObject) -> Bool {
        let key = ObjectIdentifier(object)
        guard let known = state.withLock({ $0.taken[key] }) else { return false }
        // In the object's own `deinit` it is dead already; so is one that had its address before.
        let isAlive = known.seat.isOf(object)
        let isRemoved = known.token.remove()
        forget([key: known])
        return isAlive && isRemoved
    }

    func remove(_ token: ObserverToken) -> Bool {
        // The seat is found without a registration when next looked at.
        set.remove(token)
    }

    func removeAll() {
        end(state.withLock { $0.taken })
    }

    /// Shows the visitor each taken seat whose object is alive, in order, and holds the object meanwhile.
    @usableFromInline
    func visit(_ visitor: (DelegateSeat, AnyObject) -> Void) {
        // It escapes no further than into the context, which ends with the visit.
        let metDead = withoutActuallyEscaping(visitor) { visitor in
            var context = DelegateVisit.Context(visitor: visitor)
            unsafe withUnsafeMutablePointer(to: &context) { unsafe set.notify(DelegateVisit(context: $0)) }
            return context.metDead
        }
        if metDead { removeDead() }
    }

    /// Removes the seats of objects that are dead, and those whose registration was ended by its token.
    private func removeDead() {
        let all = state.withLock { $0.taken }
        end(all.filter { !$0.value.seat.isAlive || !$0.value.token.isActive })
        state.withLock { $0.examineAt = max(32, 2 * $0.taken.count) }
    }

    private func end(_ seats: [ObjectIdentifier: Taken]) {
        for taken in seats.values { taken.token.remove() }
        // Only now: whoever finds its place empty adds a delegate anew, which would be told twice meanwhile.
        forget(seats)
    }

    private func forget(_ seats: [ObjectIdentifier: Taken]) {
        state.withLock { state in
            for (key, taken) in seats where state.taken[key]?.token == taken.token { state.taken[key] = nil }
        }
    }
}
