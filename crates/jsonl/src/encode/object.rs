//! Encoding of one JSON object, member by member.

/// A JSON object that is being written. `serde_json` escapes the strings.
#[derive(Debug)]
pub(crate) struct Object {
    text: String,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self {
            text: String::from("{"),
        }
    }

    pub(crate) fn str(self, key: &str, value: &str) -> Self {
        // Only a value that cannot be a JSON key fails to serialise, and a string is none.
        let value = serde_json::to_string(value).expect("a string is always JSON");
        self.raw(key, &value)
    }

    pub(crate) fn bool(self, key: &str, value: bool) -> Self {
        self.raw(key, if value { "true" } else { "false" })
    }

    /// Appends a member whose value is JSON text.
    pub(crate) fn raw(mut self, key: &str, value: &str) -> Self {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push('"');
        self.text.push_str(key);
        self.text.push_str("\":");
        self.text.push_str(value);
        self
    }

    pub(crate) fn optional(self, value: Option<&str>, key: &str) -> Self {
        match value {
            Some(value) => self.str(key, value),
            None => self,
        }
    }

    /// Appends the members of another object.
    pub(crate) fn members(mut self, fields: &serde_json::Map<String, serde_json::Value>) -> Self {
        for (key, value) in fields {
            let key = serde_json::to_string(key).expect("a string is always JSON");
            self = self.raw(key.trim_matches('"'), &value.to_string());
        }
        self
    }

    pub(crate) fn json(mut self) -> String {
        self.text.push('}');
        self.text
    }

    /// Ends the object and the line.
    pub(crate) fn line(self) -> Vec<u8> {
        let mut text = self.json();
        text.push('\n');
        text.into_bytes()
    }
}

/// A JSON array of JSON texts.
pub(crate) fn list<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> String {
    let mut text = String::from("[");
    for value in values {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(value.as_ref());
    }
    text.push(']');
    text
}
