import ObserverSet

/// A set of one copy of the library.
///
/// The program does not see its types. The other copy has this file, too.
let first: Copy = {
    let set = ObserverSet<Int>()
    return Copy(
        notify: { set.notify($0) },
        add: { ledger, name in
            let token = set.add(ledger) { ledger, value in ledger.hear("\(name) \(value)") }
            return (token, { token.remove() })
        },
        addOnMain: { observer in
            let token = set.add(observer)
            return { token.remove() }
        },
        settled: { await set.settled() })
}()
