extension ObserverSet {
    /// Drops what waits for the observers, and cancels the calls that are awaited; the registrations stay.
    ///
    /// For what ends and begins again with the same observers: a connection that closes, and is opened later.
    ///
    /// ```swift
    /// document.wordAdded.cancelCalls()
    /// await document.wordAdded.settled()
    /// // Nothing that this set has notified waits, or is being awaited, and nothing will before it notifies again.
    /// ```
    ///
    /// - The call in progress of an observer that awaits is cancelled, as by ``ObserverToken/remove()``, but it is still
    ///   waited for: ``settled()`` returns when it has ended, however long it takes to notice that it was cancelled. The call
    ///   for the next value begins after that. The call that makes this call itself is not cancelled.
    /// - Values that wait for observers on actors and queues, or for observers that await, are released, and not
    ///   delivered. They are not counted in ``ObserverToken/droppedCount``, which is about a lack of room.
    /// - A call of an observer that does not await cannot be cancelled. On another actor or on a queue, `settled()` waits for
    ///   its end.
    ///
    /// What is notified from now on is delivered as before, in order. What another thread notifies at the same moment is
    /// either dropped or delivered. An observer of a group, or of merged sources, loses the values of this set alone, and
    /// its call is cancelled if this set made it. An observer of ``NotificationSource/once`` that is waiting for its call
    /// waits for the next value; during its call it is removed already, and the call goes on. Elements in a sequence of
    /// `values()` are the sequence's, and stay in it.
    ///
    /// May be called on any thread, and in observers. It is a function of the set, as `notify` is, since it
    /// concerns all observers; to end the calls of one, remove that, and add it again.
    ///
    /// - Complexity: O(*n*), and for each observer O(*m*), where *m* is the number of values in its mailbox.
    public func cancelCalls() { registry?.cancelCalls() }
}

extension Registry {
    /// In a traversal and under no lock: this releases values of the user's.
    fileprivate func cancelCalls() {
        UserCode.assertNoLockIsHeld()
        forEachLiving { slot in slot.callee.entry?.cancelCalls() }
    }
}
