// Several notifications, observed as one.
//
//     swift run Groups

import ObserverSet

@MainActor final class Recipe {
    let titleChanged = ObserverSet<String>()
    let ingredientAdded = ObserverSet<(name: String, grams: Int)>()
    let stepsReordered = ObserverSet<(Int, Int)>()

    /// Anything that makes a saved copy out of date.
    var changed: ObserverGroup { ObserverGroup(titleChanged, ingredientAdded, stepsReordered) }

    /// Every word that is new in it.
    var worded: some NotificationSource<String> { titleChanged.merge(with: ingredientAdded.map(\.name)) }
}

/// An actor: the changes reach it in order, while the cook goes on.
actor Store {
    private var changes = 0

    func observe(_ changed: ObserverGroup) {
        changed.add(self) { store in store.changes += 1 }
    }

    func save() { print("saved a recipe with \(changes) changes") }
}

let recipe = Recipe()
let store = Store()
await store.observe(recipe.changed)

// One call in all, whichever notification comes first.
_ = recipe.changed.once.add { print("the recipe is edited") }

// If all members have the same parameters, observers receive these.
_ = recipe.worded.filter { $0.count > 8 }.add { word in print("new: \(word)") }

// One token ends all three registrations.
let marker = recipe.changed.add { print("unsaved changes") }

recipe.titleChanged.notify("Shakshuka")
recipe.ingredientAdded.notify((name: "tomatoes", grams: 800))
marker.remove()
recipe.stepsReordered.notify(2, 1)

await recipe.changed.settled()
await store.save()
