/// A JSON object whose members keep their order and have unique names (RFC 8259 §4).
///
/// For the small objects of protocols: a look-up is a linear search.
package struct JSONObject: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package struct Member: Hashable, Sendable {
        package let name: String
        package fileprivate(set) var value: JSONValue

        package static func == (left: Member, right: Member) -> Bool {
            left.name.isExactly(right.name) && left.value == right.value
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(ExactText(text: name))
            hasher.combine(value)
        }
    }

    /// In the order written.
    package private(set) var members: [Member] = []

    package init() {}

    /// - Parameter pairs: in order; a later value of the same name replaces the earlier one.
    package init(_ pairs: [(String, JSONValue)]) {
        for (name, value) in pairs { self[name] = value }
    }

    /// - Parameter unique: members whose names are known to differ.
    init(unique members: [Member]) { self.members = members }

    /// The value of the member with exactly this name. Setting replaces in place or appends; nil removes.
    package subscript(name: String) -> JSONValue? {
        get {
            for member in members where member.name.isExactly(name) { return member.value }
            return nil
        }
        set {
            let index = members.firstIndex { $0.name.isExactly(name) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    package var isEmpty: Bool { members.isEmpty }
    package var count: Int { members.count }

    package init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }
}
