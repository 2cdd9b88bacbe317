// expect: type 'any NotificationSource<String>' cannot conform to 'NotificationSource'
// A group takes sources whose types are not known as an array, `ObserverGroup([first, second])`.

import ObserverSet

func observe(_ first: any NotificationSource<String>, _ second: any NotificationSource<String>) {
    _ = ObserverGroup(first, second).add { print("changed") }
}
