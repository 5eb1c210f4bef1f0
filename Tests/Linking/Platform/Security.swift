// As AuthenticationServices.swift beside this: a keychain in memory. Core Foundation's names, which Apple's SDK brings
// along, are here too.
import Foundation

public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = AnyObject
public typealias OSStatus = Int32
public let errSecSuccess: OSStatus = 0
public let kSecClass = "class"
public let kSecClassGenericPassword = "genp"
public let kSecAttrService = "svce"
public let kSecAttrAccount = "acct"
public let kSecAttrAccessGroup = "agrp"
public let kSecAttrAccessible = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = "cku"
public let kSecReturnData = "r_Data"
public let kSecMatchLimit = "m_Limit"
public let kSecMatchLimitOne = "m_LimitOne"
public let kSecValueData = "v_Data"

private let items = Items()

private final class Items: @unchecked Sendable {
    private let lock = NSLock()
    private var kept: [String: Data] = [:]

    subscript(_ query: CFDictionary) -> Data? {
        get { lock.withLock { kept[name(query)] } }
        set { lock.withLock { kept[name(query)] = newValue } }
    }

    private func name(_ query: CFDictionary) -> String {
        "\(query[kSecAttrService] ?? "")/\(query[kSecAttrAccount] ?? "")"
    }
}

@discardableResult public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    items[query] = nil
    return errSecSuccess
}

public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    items[attributes] = attributes[kSecValueData] as? Data
    return errSecSuccess
}

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    guard let data = items[query] else { return -25300 }
    result?.pointee = data as NSData
    return errSecSuccess
}
