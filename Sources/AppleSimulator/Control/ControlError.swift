import Coding

/// Why the control interface refused something.
enum ControlError: Error, Sendable {
    /// 400
    case invalid(String)
    /// 404
    case unknown(String)
}

extension JSONObject.Member {
    func requireString() throws(ControlError) -> String {
        guard let string = value.stringValue else { throw .invalid("\(name) is a string.") }
        return string
    }

    func requireBool() throws(ControlError) -> Bool {
        guard let bool = value.boolValue else { throw .invalid("\(name) is true or false.") }
        return bool
    }

    func requireInteger(_ range: ClosedRange<Int64>) throws(ControlError) -> Int64 {
        guard let integer = value.integer, range.contains(integer) else {
            throw .invalid("\(name) is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return integer
    }

    func requireObject() throws(ControlError) -> JSONObject {
        guard let object = value.objectValue else { throw .invalid("\(name) is an object.") }
        return object
    }

    func requireCase<Value: RawRepresentable<String>>() throws(ControlError) -> Value {
        guard let string = value.stringValue, let found = Value(rawValue: string) else {
            throw .invalid("\(name) cannot be \(value.text).")
        }
        return found
    }
}
