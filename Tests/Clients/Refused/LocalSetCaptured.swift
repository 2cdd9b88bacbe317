// expect: capture of 'changed' with non-Sendable type 'LocalObserverSet<String>' in a '@Sendable' closure
// A local set cannot be notified from a closure that may run on any thread.

import ObserverSet

func onAnyThread(_ body: @escaping @Sendable () -> Void) {}

func rename(_ changed: LocalObserverSet<String>) {
    onAnyThread { changed.notify("elsewhere") }
}
