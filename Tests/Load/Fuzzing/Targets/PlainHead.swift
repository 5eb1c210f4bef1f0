/// A head of HTTP/1 taken apart by its line ends and nothing else: what the parsers are held against. It decides nothing
/// about what may stand where, so it is right only about heads that a strict reader has let through.
struct PlainHead {
    struct Field: Equatable {
        /// Lower case.
        var name: String
        /// Without the blanks around it.
        var value: String
    }

    private(set) var startLine = ""
    private(set) var fields: [Field] = []
    /// Every line ends in CRLF, none is folded, no control character but the tab stands in one, each has a colon.
    private(set) var isTidy = true

    /// - Parameter head: from the first byte to the empty line; empty lines before the start line are skipped.
    init(_ head: [UInt8]) {
        var lines: [[UInt8]] = []
        var line: [UInt8] = []
        var index = 0
        while index < head.count {
            if head[index] == 13, index + 1 < head.count, head[index + 1] == 10 {
                lines.append(line)
                line = []
                index += 2
                continue
            }
            if head[index] == 127 || head[index] < 32 && head[index] != 9 { isTidy = false }
            line.append(head[index])
            index += 1
        }
        if !line.isEmpty { isTidy = false }
        let texts = lines.drop { $0.isEmpty }
        startLine = shown(texts.first ?? [])
        for line in texts.dropFirst() where !line.isEmpty {
            guard let colon = line.firstIndex(of: 58), line[0] != 32, line[0] != 9, line[colon - 1] != 32 else {
                isTidy = false
                continue
            }
            let value = line[(colon + 1)...].drop { $0 == 32 || $0 == 9 }
            let end = value.lastIndex { $0 != 32 && $0 != 9 }.map { $0 + 1 } ?? value.startIndex
            fields.append(
                Field(name: shown(line[..<colon]).lowercased(), value: shown(value[value.startIndex..<end])))
        }
    }

    func values(_ name: String) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }
}
