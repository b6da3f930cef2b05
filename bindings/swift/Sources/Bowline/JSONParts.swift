/// Parts of JSON documents.
extension TranscriptWriter {
    typealias Part = (inout TranscriptWriter) -> Void

    mutating func members(_ write: Part) {
        nested("{", "}", write)
    }

    mutating func list<Value>(
        _ values: [Value], _ write: (inout TranscriptWriter, Value) -> Void
    ) {
        nested("[", "]") {
            for value in values {
                $0.comma()
                write(&$0, value)
            }
        }
    }

    mutating func nested(_ open: Unicode.Scalar, _ close: Unicode.Scalar, _ write: Part) {
        out.append(UInt8(ascii: open))
        isFirst = true
        write(&self)
        isFirst = false
        out.append(UInt8(ascii: close))
    }

    mutating func comma() {
        if !isFirst { out.append(UInt8(ascii: ",")) }
        isFirst = false
    }

    mutating func value(_ name: String, _ write: Part) {
        comma()
        quote(name)
        out.append(UInt8(ascii: ":"))
        write(&self)
    }

    mutating func raw(_ name: String, _ json: String?) {
        value(name) { $0.out.append(contentsOf: (json ?? "null").utf8) }
    }

    mutating func raw(_ name: String, _ value: Bool) {
        raw(name, value ? "true" : "false")
    }

    mutating func text(_ name: String, _ text: String?) {
        guard let text else { return raw(name, nil as String?) }
        value(name) { $0.quote(text) }
    }

    mutating func quote(_ text: String) {
        out.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
            case 8: out += Array("\\b".utf8)
            case 9: out += Array("\\t".utf8)
            case 10: out += Array("\\n".utf8)
            case 12: out += Array("\\f".utf8)
            case 13: out += Array("\\r".utf8)
            case 0..<32:
                let digits = String(byte, radix: 16)
                out += Array("\\u00\(digits.count == 1 ? "0" : "")\(digits)".utf8)
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
        isFirst = false
    }

    /// A list of objects.
    mutating func objects<Value>(
        _ name: String, _ values: [Value]?, _ write: (inout TranscriptWriter, Value) -> Void
    ) {
        value(name) { w in
            w.list(values ?? []) { w, value in w.members { write(&$0, value) } }
        }
    }

    /// An object, or null without a value.
    mutating func optional<Value>(
        _ name: String, _ value: Value?, _ write: (inout TranscriptWriter, Value) -> Void
    ) {
        guard let value else { return raw(name, nil as String?) }
        self.value(name) { w in w.members { write(&$0, value) } }
    }

    mutating func raw(_ name: String, _ number: UInt64?) {
        raw(name, number.map { String($0) })
    }
}

/// Returns the schema's name of an enum case: the Swift name in snake case.
func snakeCase<Case>(_ value: Case) -> String {
    var text = ""
    for character in String(describing: value) {
        text += character.isUppercase ? "_" + character.lowercased() : String(character)
    }
    return text
}
