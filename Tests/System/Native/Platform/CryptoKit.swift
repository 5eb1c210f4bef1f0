// As AuthenticationServices.swift beside this.
import Foundation

public struct SHA256Digest: Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
}

public enum SHA256 {
    public static func hash<Bytes: DataProtocol>(data: Bytes) -> SHA256Digest { fatalError() }
}
