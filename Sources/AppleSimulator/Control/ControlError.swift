/// Why the control interface refused something.
enum ControlError: Error, Sendable {
    /// 400
    case invalid(String)
    /// 404
    case unknown(String)
}

extension JSON.Member {
    func requireString() throws(ControlError) -> String {
        guard let string = value.string else { throw .invalid("\(name) is a string.") }
        return string
    }

    func requireBool() throws(ControlError) -> Bool {
        guard let bool = value.bool else { throw .invalid("\(name) is true or false.") }
        return bool
    }

    func requireInteger(_ range: ClosedRange<Int64>) throws(ControlError) -> Int64 {
        guard let integer = value.integer, range.contains(integer) else {
            throw .invalid("\(name) is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return integer
    }

    func requireMembers() throws(ControlError) -> [JSON.Member] {
        guard let members = value.members else { throw .invalid("\(name) is an object.") }
        return members
    }

    func requireCase<Value: RawRepresentable<String>>() throws(ControlError) -> Value {
        guard let string = value.string, let found = Value(rawValue: string) else {
            throw .invalid("\(name) cannot be \(value.text).")
        }
        return found
    }
}
