#if canImport(Glibc)
import Synchronization

/// Counts what the process allocates, block by block.
///
/// The package manifest makes the linker give the functions below the names `malloc` and so on. For every library that
/// it loads, the dynamic linker looks up such a name in the program first, and then in the C library. So every
/// allocation is counted, including those of the Swift runtime and those that are freed at once. Nothing is estimated
/// from totals.
enum Heap {
    struct Change {
        /// How many blocks were allocated, or reallocated with another size.
        let allocations: Int
        /// How many more bytes are in use than before, including the allocator's own eight bytes for each block.
        let bytes: Int

        /// The bytes of each object, if `count` equal objects were allocated, in whole bytes.
        ///
        /// The average is rounded, because the allocator sometimes gives a block sixteen bytes more, instead of leaving
        /// a piece that is too small to use.
        func bytes(each count: Int) -> Double { (Double(bytes) / Double(count)).rounded() }
    }

    /// Counts what all threads together allocate and free while `body` runs.
    ///
    /// Calls must not be nested.
    static func change(during body: () -> Void) -> Change {
        allocations.store(0, ordering: .relaxed)
        bytes.store(0, ordering: .relaxed)
        isCounting.store(true, ordering: .sequentiallyConsistent)
        body()
        isCounting.store(false, ordering: .sequentiallyConsistent)
        return Change(
            allocations: allocations.load(ordering: .relaxed), bytes: bytes.load(ordering: .relaxed))
    }

    /// Stops the program if it was linked in such a way that the functions below are not called.
    static func checkThatItCounts() {
        var kept: Counter?
        let change = change { kept = makeCounter() }
        guard withExtendedLifetime(kept, { change.allocations == 1 && change.bytes == 32 }) else {
            fatalError("counted \(change.allocations) blocks of \(change.bytes) bytes instead of one of 32")
        }
    }

    /// This is not inlined.
    ///
    /// If the compiler saw the object's whole life, it might not allocate the object on the heap.
    @inline(never)
    private static func makeCounter() -> Counter { Counter() }
}

// The optimizer initializes these constants statically. Without the optimizer, they are initialized at their first use,
// which allocates memory. So a debug build must not use them during an allocation.
private let isCounting = Atomic<Bool>(false)
private let allocations = Atomic<Int>(0)
private let bytes = Atomic<Int>(0)

@inline(__always)
private func allocated(_ block: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    #if !DEBUG
    if isCounting.load(ordering: .relaxed), let block {
        allocations.wrappingAdd(1, ordering: .relaxed)
        bytes.wrappingAdd(usableSize(block) + 8, ordering: .relaxed)
    }
    #endif
    return block
}

@inline(__always)
private func freeing(_ block: UnsafeMutableRawPointer?) {
    #if !DEBUG
    if isCounting.load(ordering: .relaxed), let block {
        bytes.wrappingSubtract(usableSize(block) + 8, ordering: .relaxed)
    }
    #endif
}

// MARK: The program's own functions, public so that the dynamic linker sees them

/// The program's `malloc`.
@_cdecl("counted_malloc")
public func countedAllocate(_ size: Int) -> UnsafeMutableRawPointer? {
    allocated(libraryAllocate(size))
}

/// The program's `calloc`.
@_cdecl("counted_calloc")
public func countedAllocateZeroed(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer? {
    allocated(libraryAllocateZeroed(count, size))
}

/// The program's `realloc`.
@_cdecl("counted_realloc")
public func countedReallocate(_ block: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
    freeing(block)
    return allocated(libraryReallocate(block, size))
}

/// The program's `aligned_alloc`.
@_cdecl("counted_aligned_alloc")
public func countedAllocateAligned(_ alignment: Int, _ size: Int) -> UnsafeMutableRawPointer? {
    allocated(libraryAllocateAligned(alignment, size))
}

/// The program's `memalign`.
@_cdecl("counted_memalign")
public func countedAllocateAlignedOldStyle(_ alignment: Int, _ size: Int) -> UnsafeMutableRawPointer? {
    allocated(libraryAllocateAligned(alignment, size))
}

/// The program's `posix_memalign`.
@_cdecl("counted_posix_memalign")
public func countedAllocateAlignedByReference(
    _ block: UnsafeMutablePointer<UnsafeMutableRawPointer?>, _ alignment: Int, _ size: Int
) -> Int32 {
    guard let result = allocated(libraryAllocateAligned(alignment, size)) else { return outOfMemory }
    block.pointee = result
    return 0
}

/// The program's `free`.
@_cdecl("counted_free")
public func countedFree(_ block: UnsafeMutableRawPointer?) {
    freeing(block)
    libraryFree(block)
}

/// The value of `ENOMEM`.
private let outOfMemory: Int32 = 12

// MARK: The C library's functions, by the names that it has for programs that replace them

// These declarations are sound, because Swift and C have the same calling convention for functions that take and return
// only integers and pointers.

@_silgen_name("__libc_malloc")
private func libraryAllocate(_ size: Int) -> UnsafeMutableRawPointer?

@_silgen_name("__libc_calloc")
private func libraryAllocateZeroed(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer?

@_silgen_name("__libc_realloc")
private func libraryReallocate(_ block: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer?

@_silgen_name("__libc_memalign")
private func libraryAllocateAligned(_ alignment: Int, _ size: Int) -> UnsafeMutableRawPointer?

@_silgen_name("__libc_free")
private func libraryFree(_ block: UnsafeMutableRawPointer?)

@_silgen_name("malloc_usable_size")
private func usableSize(_ block: UnsafeMutableRawPointer) -> Int
#endif
