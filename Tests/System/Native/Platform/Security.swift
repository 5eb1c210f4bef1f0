// As AuthenticationServices.swift beside this. Core Foundation's names, which Apple's SDK brings along, are here too.
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

@discardableResult public func SecItemDelete(_ query: CFDictionary) -> OSStatus { fatalError() }
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    fatalError()
}
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    fatalError()
}
