//! Writes the lines of the stream that a conversation is folded from.

use bowline_jsonl::RawJson;

/// A stream of lines in the agent's output format (`crates/jsonl/PROTOCOL.md`).
#[derive(Debug, Default)]
pub(crate) struct StreamWriter {
    pub(crate) bytes: Vec<u8>,
}

impl StreamWriter {
    /// Begins a line of a type.
    pub(crate) fn line(&mut self, kind: &str) -> LineWriter<'_> {
        let mut line = LineWriter {
            out: &mut self.bytes,
            before: b"{",
        };
        line.text("type", Some(kind));
        line
    }

    /// Adds a line as it is.
    pub(crate) fn copy(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
    }

    /// Adds that a sub-agent is not in the stream, as a line that is no object: the transcript counts it as
    /// damaged and has an error in its place.
    pub(crate) fn missing_agent(&mut self, id: &str, reason: &str) {
        // No id makes an object or two lines of it.
        let is_plain = |it: char| it.is_alphanumeric() || it == '-';
        let id: String = id.chars().filter(|it| is_plain(*it)).collect();
        self.copy(format!("sub-agent {id} is missing: {reason}").as_bytes());
    }
}

/// One line; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct LineWriter<'o> {
    out: &'o mut Vec<u8>,
    before: &'static [u8],
}

impl LineWriter<'_> {
    fn key(&mut self, key: &str) {
        self.out.extend_from_slice(self.before);
        self.before = b",";
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// Adds a member with a value that is JSON already; none without a value.
    pub(crate) fn raw(&mut self, key: &str, value: Option<RawJson<'_>>) -> &mut Self {
        if let Some(value) = value {
            self.key(key);
            self.out.extend_from_slice(value.text().as_bytes());
        }
        self
    }

    /// Adds a member with a text; none without one.
    pub(crate) fn text(&mut self, key: &str, text: Option<&str>) -> &mut Self {
        if let Some(text) = text {
            self.value(key, &text.into());
        }
        self
    }

    /// Adds a member.
    pub(crate) fn value(&mut self, key: &str, value: &serde_json::Value) -> &mut Self {
        self.key(key);
        self.out.extend_from_slice(value.to_string().as_bytes());
        self
    }

    /// Adds a member that is `true`, or none.
    pub(crate) fn flag(&mut self, key: &str, is_set: bool) -> &mut Self {
        if is_set {
            self.value(key, &true.into());
        }
        self
    }
}

impl Drop for LineWriter<'_> {
    fn drop(&mut self) {
        self.out.extend_from_slice(b"}\n");
    }
}
