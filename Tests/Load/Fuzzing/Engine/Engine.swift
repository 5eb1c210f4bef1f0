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
        if isPlanted {
            // What is refused is not kept: the search goes on from what gets through.
            guard let accepted else { return -1 }
            plantedBug(accepted)
        }
    } catch {
        fatalError("\(chosen.name): \(error)")
    }
    return 0
}

/// A trap behind four bytes anywhere in what the target accepted. As many as are right is a call of its own, which the
/// optimiser cannot make one of, so that the fuzzer keeps what comes nearer. Then all four are one comparison, whose sides
/// the fuzzer sees: behind the others, since it remembers few, and the latest.
@inline(never)
private func plantedBug(_ bytes: [UInt8]) {
    guard bytes.count >= 4 else { return }
    for start in 0...(bytes.count - 4) {
        var right = 0
        if bytes[start] == 0x62 { right += 1 }
        if bytes[start + 1] == 0x75 { right += 1 }
        if bytes[start + 2] == 0x67 { right += 1 }
        if bytes[start + 3] == 0x37 { right += 1 }
        if right == 1 { one() }
        if right == 2 { two() }
        if right == 3 { three() }
    }
    var word: UInt32 = 0
    for byte in bytes {
        word = word << 8 | UInt32(byte)
        if isPlant(word) { fatalError("the planted bug, after \(processorTime()) ms") }
    }
}

@inline(never) @_optimize(none)
private func isPlant(_ word: UInt32) -> Bool { word == 0x6275_6737 }
@inline(never) @_optimize(none)
private func one() {}
@inline(never) @_optimize(none)
private func two() {}
@inline(never) @_optimize(none)
private func three() {}

/// Milliseconds of a processor that this process has had.
private func processorTime() -> Int {
    clock() / (Int(CLOCKS_PER_SEC) / 1000)
}
