//! Which parts of a line are content, and what replaces them.

/// Members that hold the input of a tool, of which nothing is structure.
const TOOL_INPUT: [&str; 9] = [
    "input",
    "arguments",
    "args",
    "rawInput",
    "tool_input",
    "toolInput",
    "updatedInput",
    "original_input",
    "answers",
];

/// Members that hold what came of a tool, or data of extensions.
const TOOL_RESULT: [&str; 8] = [
    "rawOutput",
    "tool_use_result",
    "toolUseResult",
    "tool_response",
    "structuredContent",
    "structured_output",
    "resultDisplay",
    "_meta",
];

/// Members whose own members are named by content.
const NAMED_BY_CONTENT: [&str; 5] = ["answers", "changes", "env", "files", "headers"];

/// Words of the protocols. They are no content, wherever they are.
const WORDS: [&str; 40] = [
    "text",
    "image",
    "diff",
    "content",
    "terminal",
    "tool_use",
    "tool_result",
    "thinking",
    "pending",
    "in_progress",
    "inProgress",
    "completed",
    "cancelled",
    "canceled",
    "failed",
    "running",
    "high",
    "medium",
    "low",
    "add",
    "update",
    "delete",
    "create",
    "user",
    "assistant",
    "system",
    "allow",
    "deny",
    "ask",
    "success",
    "error",
    "command",
    "read",
    "edit",
    "search",
    "execute",
    "fetch",
    "other",
    "async_launched",
    "base64",
];

/// Members with a word of the protocol, an id or a name, if its value looks like one.
const STRUCTURE: [&str; 36] = [
    "type",
    "subtype",
    "kind",
    "role",
    "status",
    "state",
    "phase",
    "method",
    "jsonrpc",
    "id",
    "uuid",
    "name",
    "model",
    "outcome",
    "behavior",
    "decision",
    "mode",
    "sessionUpdate",
    "timestamp",
    "version",
    "priority",
    "event",
    "tool",
    "server",
    "error",
    "code",
    "reason",
    "cause",
    "dir",
    "media_type",
    "mimeType",
    "apiKeySource",
    "claude_code_version",
    "origin",
    "agent",
    "currency",
];

/// Beginnings of texts that an agent writes itself, and that have a meaning in its protocol.
const MARKERS: [&str; 3] = [
    "[Request interrupted by user",
    "Exit code ",
    "User rejected tool use",
];

/// Members that hold the options of a session, whose values are words.
const OPTIONS: [&str; 6] = [
    "configOptions",
    "options",
    "choices",
    "models",
    "modes",
    "availableModels",
];

/// Members with a value of an option.
const OPTION_VALUES: [&str; 3] = ["value", "currentValue", "category"];

/// Ends of the names of such members.
const STRUCTURE_ENDS: [&str; 17] = [
    "ID", "_kind", "_id", "Id", "_ids", "Ids", "_uuid", "uuids", "_type", "Type", "_name",
    "_reason", "Reason", "_mode", "Mode", "Status", "_version",
];

/// Longest value that is taken for an id or a word.
const MAX_WORD: usize = 128;

/// How a text is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    /// Every character except line ends.
    Text,
    /// The same, after a number of bytes.
    TextAfter(usize),
    /// The letters and digits of a part of JSON, which remains JSON.
    Json,
    /// The digits of a number.
    Number,
    /// Every printable character outside of control sequences.
    Terminal,
}

/// What is content, by the members above it.
#[derive(Clone, Debug, Default)]
pub(super) struct ContentPolicy {
    is_input: bool,
    is_result: bool,
    is_option: bool,
    has_content_names: bool,
}

impl ContentPolicy {
    /// Returns the policy for the value of a member.
    pub(super) fn within(&self, key: &str) -> Self {
        Self {
            is_input: self.is_input || TOOL_INPUT.contains(&key),
            is_result: self.is_result || TOOL_RESULT.contains(&key),
            is_option: self.is_option || OPTIONS.contains(&key),
            has_content_names: NAMED_BY_CONTENT.contains(&key),
        }
    }

    /// Returns how a string is replaced.
    pub(super) fn mask_of_value(&self, key: &str, text: &str) -> Option<Mask> {
        let is_opaque = self.is_input || self.is_result;
        let is_structure = STRUCTURE.contains(&key)
            || STRUCTURE_ENDS.iter().any(|end| key.ends_with(end))
            || self.is_option && OPTION_VALUES.contains(&key);
        if WORDS.contains(&text) && is_structure || !is_opaque && is_structure && is_word(text) {
            return None;
        }
        let is_json = key == "partial_json" || key == "arguments";
        let marker = MARKERS.iter().find(|it| text.starts_with(**it));
        Some(match marker {
            _ if is_json => Mask::Json,
            Some(marker) => Mask::TextAfter(marker.len()),
            None => Mask::Text,
        })
    }

    /// Returns how the name of a member is replaced.
    pub(super) fn mask_of_name(&self, name: &str) -> Option<Mask> {
        (self.has_content_names || !is_word(name)).then_some(Mask::Text)
    }

    /// Returns how a number is replaced, if it is one within the input of a tool. A number that is itself named
    /// `input` counts tokens.
    pub(super) fn mask_of_number(&self, key: &str, text: &str) -> Option<Mask> {
        if TOOL_INPUT.contains(&key) {
            return None;
        }
        let is_number = text.starts_with(|char: char| char == '-' || char.is_ascii_digit());
        (self.is_input && is_number).then_some(Mask::Number)
    }
}

/// Returns whether a text has the form of an id, a name or a time, and not that of prose or a path.
fn is_word(text: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.:/$+>[]#".contains(byte);
    text.len() <= MAX_WORD && !text.starts_with(['/', '.']) && text.as_bytes().iter().all(is_part)
}

/// Replaces a text by as many bytes.
pub(super) fn mask_text(bytes: &mut [u8], mask: Mask) {
    match mask {
        Mask::Text => mask_json_string(bytes),
        // No marker has an escape.
        Mask::TextAfter(kept) => mask_json_string(&mut bytes[kept..]),
        Mask::Json => mask_json_part(bytes),
        Mask::Number => bytes
            .iter_mut()
            .filter(|byte| byte.is_ascii_digit())
            .for_each(|byte| *byte = b'1'),
        Mask::Terminal => mask_terminal(bytes),
    }
}

/// Replaces the characters of a JSON string, escapes included, except line ends and the padding of base64.
fn mask_json_string(bytes: &mut [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        let is_line_end = bytes[at..].starts_with(b"\\n") || bytes[at..].starts_with(b"\\r");
        if is_line_end {
            at += 2;
            continue;
        }
        let is_escape = bytes[at] == b'\\';
        bytes[at] = b'x';
        at += 1;
        if is_escape && at < bytes.len() {
            bytes[at] = b'x';
            at += 1;
        }
    }
}

/// Replaces the letters and digits of JSON, or of a part of it in a JSON string. Literals and escapes stay valid.
fn mask_json_part(bytes: &mut [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            // Escapes in a string in a string have several.
            let escapes = bytes[at..].iter().take_while(|byte| **byte == b'\\');
            at += escapes.count();
            let is_unicode = bytes.get(at) == Some(&b'u');
            at += 1;
            let end = bytes.len().min(at + 4);
            if is_unicode && at < end {
                let digits = bytes[at..end].iter_mut();
                let hex = digits.take_while(|byte| byte.is_ascii_hexdigit());
                hex.for_each(|byte| *byte = b'1');
            }
        } else if bytes[at].is_ascii_alphabetic() {
            let letters = bytes[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric());
            let word = at..at + letters.count();
            at = word.end;
            if !matches!(&bytes[word.clone()], b"true" | b"false" | b"null") {
                bytes[word].fill(b'x');
            }
        } else {
            match bytes[at] {
                byte if byte.is_ascii_digit() => bytes[at] = b'1',
                byte if byte >= 0x80 => bytes[at] = b'x',
                _ => {}
            }
            at += 1;
        }
    }
}

/// Replaces what a terminal prints. Control sequences (ECMA-48) stay, except the texts of those with one.
fn mask_terminal(bytes: &mut [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            0x1b if bytes.get(at + 1) == Some(&b'[') => {
                at += 2;
                while at < bytes.len() && !(0x40..0x7f).contains(&bytes[at]) {
                    at += 1;
                }
                at += 1;
            }
            byte => {
                if byte > b' ' && byte != 0x7f {
                    bytes[at] = b'x';
                }
                at += 1;
            }
        }
    }
}
