extension Dictionary {
    /// Removes a value, and frees unused memory if the dictionary has become almost empty.
    package mutating func removeAndTrim(_ key: Key) -> Value? {
        let removed = removeValue(forKey: key)
        // `filter` doesn't help here: if it leaves nothing out, the result keeps the old capacity.
        if capacity > 64, count < capacity / 8 {
            // `Dictionary(uniqueKeysWithValues:)` would add two kilobytes to the executable.
            var smaller = Dictionary(minimumCapacity: count)
            for (key, value) in self { smaller[key] = value }
            self = smaller
        }
        return removed
    }
}
