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

extension JSONWriter {
    package mutating func write<Item>(_ item: Item, _ fields: [Field<Item>]) {
        beginObject()
        members(of: item, fields)
        endObject()
    }

    package mutating func write(_ members: [FieldValue.Member]) {
        beginObject()
        for member in members { self.member(member.name, member.value) }
        endObject()
    }

    package static func encode<Item>(_ item: Item, _ fields: [Field<Item>]) -> [UInt8] {
        var writer = JSONWriter(reserving: 768)
        writer.write(item, fields)
        return writer.bytes
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
            beginObject()
            for part in parts { member(part.name, part.text) }
            endObject()
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
