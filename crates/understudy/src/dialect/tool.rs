//! What a tool call does, for protocols that say it.

use serde_json::{Map, Value};

/// What a tool call does.
#[derive(Clone, Debug)]
pub(crate) enum ToolAction<'a> {
    Command(&'a str),
    Read(&'a str),
    /// A file with its new text, and its old one unless it is created.
    Edit {
        path: &'a str,
        old: Option<&'a str>,
        new: &'a str,
    },
    Search(&'a str),
    Fetch(&'a str),
    Other,
}

impl<'a> ToolAction<'a> {
    /// Reads it from the input of a tool of Claude Code.
    pub(crate) fn of(name: &str, input: &'a Map<String, Value>) -> Self {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        let path = || text("file_path").unwrap_or_default();
        match name {
            "Bash" => Self::Command(text("command").unwrap_or_default()),
            "Read" => Self::Read(path()),
            "Edit" => Self::Edit {
                path: path(),
                old: Some(text("old_string").unwrap_or_default()),
                new: text("new_string").unwrap_or_default(),
            },
            "Write" => Self::Edit {
                path: path(),
                old: None,
                new: text("content").unwrap_or_default(),
            },
            "Grep" | "Glob" => Self::Search(text("pattern").unwrap_or_default()),
            "WebFetch" => Self::Fetch(text("url").unwrap_or_default()),
            _ => Self::Other,
        }
    }
}

/// Returns the text of a result: a string, or the text blocks of an array.
pub(crate) fn text_of(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Splits the exit code from the output of a failed command, which begins with `Exit code N`.
pub(crate) fn exit_code(text: &str) -> Option<(i64, &str)> {
    let rest = text.strip_prefix("Exit code ")?;
    let (code, output) = rest.split_once('\n').unwrap_or((rest, ""));
    Some((code.parse().ok()?, output))
}
