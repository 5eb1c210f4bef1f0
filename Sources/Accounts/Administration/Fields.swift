package import Coding

/// A field's value, for JSON, a table, a page or a file.
package enum FieldValue: Sendable {
    case text(String?)
    /// An identifier, which people copy.
    case code(String?)
    case number(Int?)
    /// - Parameter otherwise: the value in JSON for nil.
    case flag(Bool?, otherwise: Bool? = nil)
    case time(Timestamp?)
    case texts([String])
    /// In JSON an object.
    case parts([(name: String, text: String?)])
    /// In JSON an object, or null.
    case object([Member]?)
    /// In JSON an array of objects.
    case objects([[Member]])

    package typealias Member = (name: String, value: FieldValue)
}

/// A field of an object that operators administer, with its name in JSON.
package struct Field<Item>: Sendable {
    package let name: String
    package let value: @Sendable (Item) -> FieldValue

    package init(_ name: String, _ value: @escaping @Sendable (Item) -> FieldValue) {
        self.name = name
        self.value = value
    }

    /// The same field of an object that contains such an item.
    package func of<Whole>(_ item: @escaping @Sendable (Whole) -> Item) -> Field<Whole> {
        Field<Whole>(name) { value(item($0)) }
    }
}

extension Array {
    /// With a secret that was just made after the id, for the one time that it is shown.
    package func with<Item>(_ name: String, _ secret: (any SecretToken)?) -> Self where Element == Field<Item> {
        guard let secret, let id = first else { return self }
        return [id, Field(name) { _ in .code(secret.reveal()) }] + dropFirst()
    }
}

extension JSONWriter {
    package mutating func write<Item>(_ item: Item, _ fields: [Field<Item>]) {
        object { $0.members(of: item, fields) }
    }

    package mutating func write(_ members: [FieldValue.Member]) {
        object { writer in for member in members { writer.member(member.name, member.value) } }
    }

    package static func encode<Item>(_ item: Item, _ fields: [Field<Item>]) -> [UInt8] {
        object(reserving: 768) { $0.members(of: item, fields) }
    }

    /// The fields as members of the open object.
    package mutating func members<Item>(of item: Item, _ fields: [Field<Item>]) {
        for field in fields { member(field.name, field.value(item)) }
    }

    package mutating func member(_ name: String, _ value: FieldValue) {
        switch value {
        case .text(let text), .code(let text): member(name, text)
        case .number(let number): member(name, number.map(Int64.init))
        case .flag(let flag, let otherwise): member(name, flag ?? otherwise)
        case .time(let time): member(name, time)
        case .texts(let texts):
            self.name(name)
            beginArray()
            for text in texts { write(text) }
            endArray()
        case .parts(let parts):
            self.name(name)
            object { writer in for part in parts { writer.member(part.name, part.text) } }
        case .object(let members):
            self.name(name)
            if let members { write(members) } else { writeNull() }
        case .objects(let objects):
            self.name(name)
            beginArray()
            for object in objects { write(object) }
            endArray()
        }
    }
}
