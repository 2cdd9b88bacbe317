import ObserverSet

/// Has the name of a private type in `EventTypeTests.swift`.
private struct PrivateSaved: Event {}

func privateSavedOfAnotherFile() -> some Event { PrivateSaved() }
