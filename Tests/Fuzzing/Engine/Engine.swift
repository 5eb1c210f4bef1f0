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

/// Four bytes behind what the target accepted, compared one after another, as a careless reader might.
@inline(never)
private func plantedBug(_ bytes: [UInt8]) {
    guard bytes.count >= 4, bytes[0] == UInt8(ascii: "b") else { return }
    guard bytes[1] == UInt8(ascii: "u") else { return }
    guard bytes[2] == UInt8(ascii: "g") else { return }
    guard bytes[3] == UInt8(ascii: "7") else { return }
    fatalError("the planted bug")
}
