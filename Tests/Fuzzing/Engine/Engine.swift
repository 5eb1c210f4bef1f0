import Glibc

// What libFuzzer calls. `FUZZ_TARGET` names the target; with `FUZZ_PLANT=1` a bug is planted in it.

private let chosen: FuzzTarget = {
    let name = unsafe getenv("FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = FuzzTarget.named(name) else {
        print("FUZZ_TARGET is one of \(FuzzTarget.all.map(\.name).joined(separator: ", "))")
        exit(2)
    }
    return target
}()

private let isPlanted = unsafe getenv("FUZZ_PLANT") != nil

/// - Parameters:
///   - data: `count` bytes that stay where they are during the call; none when `count` is 0.
/// - Returns: -1 for an input that is not to be kept, else 0.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count <= chosen.maximumLength else { return -1 }
    let input = unsafe Array(UnsafeBufferPointer(start: data, count: count))
    do throws(Finding) {
        let accepted = try chosen.run(input)
        if isPlanted, let accepted { plantedBug(accepted) }
    } catch {
        fatalError("\(chosen.name): \(error)")
    }
    return 0
}

/// A trap behind four bytes of what the target accepted, compared at once; the fuzzer sees how far from them it is. For
/// targets that hand over what they computed, it also sees each byte that is right.
@inline(never)
private func plantedBug(_ bytes: [UInt8]) {
    guard bytes.count >= 4 else { return }
    let word = bytes[..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    for index in 0..<4 {
        guard bytes[index] == plantedWord[index] else { break }
        reached(index)
    }
    if word == 0x6275_6737 { fatalError("the planted bug") }
}

private let plantedWord = Array("bug7".utf8)

/// An edge for each byte.
@inline(never)
private func reached(_ index: Int) {
    switch index {
    case 0: step(0)
    case 1: step(1)
    case 2: step(2)
    default: step(3)
    }
}

@inline(never) @_optimize(none)
private func step(_ index: Int) {}
