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

/// A trap behind four bytes anywhere in what the target accepted; each that is right is a branch of its own. Not
/// optimised, since that would make one branch of them.
@inline(never) @_optimize(none)
private func plantedBug(_ bytes: [UInt8]) {
    guard bytes.count >= 4 else { return }
    for start in 0...(bytes.count - 4) {
        let word = bytes[start..<(start + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        if word == 0x6275_6737 { fatalError("the planted bug, after \(processorTime()) ms") }
        if word >> 8 == 0x62_7567 { step(3) }
        if word >> 16 == 0x6275 { step(2) }
        if word >> 24 == 0x62 { step(1) }
    }
}

@inline(never) @_optimize(none)
private func step(_ count: Int) {}

/// Milliseconds of a processor that this process has had.
private func processorTime() -> Int {
    clock() / (Int(CLOCKS_PER_SEC) / 1000)
}
