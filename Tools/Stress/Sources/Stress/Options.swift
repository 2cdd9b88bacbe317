/// The options of the command line.
struct Options {
    static let usage = """
        usage: Stress [--threads 1,2,4,8,16] [--deliveries N] [--seed S] [--seconds T]
               Stress --growth N [--seed S]

        --threads     how many threads meet, one number after the other
        --deliveries  how many calls of observers, over all of these (default 1000000)
        --seconds     when to end though fewer have been made; who then still waits is taken to wait for ever
        --growth      add, remove and let owners die N times, and look at the memory that is occupied
        --seed        which random numbers (default: others in each run)
        """

    private(set) var threads = [1, 2, 4, 8, 16]
    private(set) var deliveries = 1_000_000
    private(set) var seconds: Double?
    private(set) var growth: Int?
    private(set) var seed = UInt64.random(in: 1...UInt64(UInt32.max))

    /// Reads the arguments, or returns nil if one of them is wrong.
    init?(_ arguments: some Collection<String>) {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let text = rest.popFirst() else { return nil }
            let number = Int(text).flatMap { $0 > 0 ? $0 : nil }
            switch (name, number) {
            case ("--threads", _):
                threads = text.split(separator: ",").compactMap { Int($0) }.filter { (1...1_000).contains($0) }
                if threads.count != text.split(separator: ",", omittingEmptySubsequences: false).count { return nil }
            case ("--deliveries", let number?): deliveries = number
            case ("--seconds", let number?): seconds = Double(number)
            case ("--growth", let number?): growth = number
            case ("--seed", _):
                guard let number = UInt64(text) else { return nil }
                seed = number
            default: return nil
            }
        }
    }
}
