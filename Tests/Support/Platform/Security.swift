// As AuthenticationServices.swift beside this: a keychain in the file that KEYCHAIN names. Core Foundation's names, which
// Apple's SDK brings along, are here too.
import Foundation

public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = AnyObject
public typealias OSStatus = Int32
public let errSecSuccess: OSStatus = 0
public let errSecItemNotFound: OSStatus = -25_300
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
public let kSecUseDataProtectionKeychain = "nleg"
public let kSecValueData = "v_Data"

private let file = URL(filePath: ProcessInfo.processInfo.environment["KEYCHAIN"] ?? "/dev/null")

private func name(_ query: CFDictionary) -> String { "\(query[kSecAttrService] ?? "") \(query[kSecAttrAccount] ?? "")" }

private func stored() -> [String: Data] {
    (try? JSONDecoder().decode([String: Data].self, from: Data(contentsOf: file))) ?? [:]
}

private func store(_ value: Data?, _ query: CFDictionary) -> OSStatus {
    var items = stored()
    items[name(query)] = value
    return (try? JSONEncoder().encode(items).write(to: file)) == nil ? errSecItemNotFound : errSecSuccess
}

@discardableResult public func SecItemDelete(_ query: CFDictionary) -> OSStatus { store(nil, query) }

public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    store(attributes[kSecValueData] as? Data, attributes)
}

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    guard let data = stored()[name(query)] else { return errSecItemNotFound }
    result?.pointee = data as AnyObject
    return errSecSuccess
}
