const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Returns the length of a text in UTF-8, in bytes. */
export function utf8Length(text) {
    let length = text.length;
    for (let at = 0; at < text.length; at += 1) {
        const unit = text.charCodeAt(at);
        if (unit < 0x80)
            continue;
        if (unit < 0x800)
            length += 1;
        else if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(at + 1))) {
            // Two units of UTF-16 are four bytes.
            length += 2;
            at += 1;
        }
        else
            length += 2;
    }
    return length;
}
/** Returns the first bytes of a text, as text. The bytes end between two characters. */
export function utf8Prefix(text, bytes) {
    return decoder.decode(encoder.encode(text).subarray(0, bytes));
}
function isHighSurrogate(unit) {
    return unit >= 0xd800 && unit < 0xdc00;
}
function isLowSurrogate(unit) {
    return unit >= 0xdc00 && unit < 0xe000;
}
