// expect: pack expansion requires that
// A method must take the parameters of the notification.

import ObserverSet

final class Window: Sendable {
    func resize(_ width: Int, _ height: Int) {}
}

func observe(_ window: Window, _ set: ObserverSet<String>) {
    set.add(method: Window.resize, of: window)
}
