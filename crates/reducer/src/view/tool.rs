//! What a call shows: as its dialect says, else by the name and input of a tool that is known.
//!
//! The tools of Claude Code, Gemini and Qwen Code are known. What they show follows from their
//! input, so that it is derived when it is read, and takes no space.

use std::borrow::Cow;

use bowline_jsonl::{RawJson, Str};

use crate::model::{Content, Location, ToolKind};

/// What a call shows. See [`ToolCall::shown`](crate::ToolCall::shown).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shown<'a> {
    /// A line that says what it does.
    pub title: Option<Cow<'a, str>>,
    /// What the tool does; `None` before its name is known.
    pub kind: Option<ToolKind>,
    /// The files that it works on.
    pub locations: Cow<'a, [Location]>,
    /// Texts, changes of files, commands.
    pub content: Cow<'a, [Content]>,
}

/// Returns what a tool shows by its name and input.
pub(super) fn of_tool(name: &str, input: Option<&str>) -> Shown<'static> {
    let Some(kind) = ToolKind::of_tool(name) else {
        return Shown::default();
    };
    let input = input.and_then(RawJson::parse).map(Input);
    Shown {
        title: input.and_then(|it| it.title(kind)).map(Cow::Owned),
        kind: Some(kind),
        locations: input
            .map(|it| it.locations(kind))
            .unwrap_or_default()
            .into(),
        content: input.map(|it| it.content(kind)).unwrap_or_default().into(),
    }
}

/// Returns the exit code that Claude Code's Bash reports: only that of a command that failed, at the
/// beginning of its result.
pub(super) fn exit_code(result: &str) -> Option<i64> {
    let number = result.strip_prefix("Exit code ")?;
    let end = number.find(|it: char| !it.is_ascii_digit());
    number.get(..end.unwrap_or(number.len()))?.parse().ok()
}

/// The arguments of a known tool.
#[derive(Clone, Copy)]
struct Input<'a>(RawJson<'a>);

impl Input<'_> {
    fn text(self, keys: &[&str]) -> Option<String> {
        let text = |key: &&str| self.0.get(key).and_then(RawJson::as_str);
        let text = keys.iter().find_map(text).map(Str::decode)?;
        (!text.is_empty()).then(|| text.into_owned())
    }

    fn path(self) -> Option<String> {
        self.text(&["file_path", "absolute_path", "notebook_path", "path"])
    }

    fn title(self, kind: ToolKind) -> Option<String> {
        match kind {
            ToolKind::Read | ToolKind::Edit => self.path(),
            ToolKind::Execute => self.text(&["command"]),
            ToolKind::Search => self.text(&["pattern", "query", "path"]),
            ToolKind::Fetch => self.text(&["url", "prompt"]),
            _ => self.text(&["description", "title"]),
        }
    }

    fn locations(self, kind: ToolKind) -> Vec<Location> {
        let line = self.0.get("offset").and_then(RawJson::as_u64);
        let line = line.filter(|&line| line > 0 && kind == ToolKind::Read);
        let path = self
            .path()
            .filter(|_| matches!(kind, ToolKind::Read | ToolKind::Edit | ToolKind::Search));
        path.map(|path| Location { path, line })
            .into_iter()
            .collect()
    }

    fn content(self, kind: ToolKind) -> Vec<Content> {
        match kind {
            ToolKind::Execute => {
                let command = self.text(&["command"]);
                let cwd = self.text(&["directory", "dir_path"]);
                command
                    .map(|command| Content::Terminal { command, cwd })
                    .into_iter()
                    .collect()
            }
            ToolKind::Edit => self.diffs(),
            _ => Vec::new(),
        }
    }

    fn diffs(self) -> Vec<Content> {
        let Some(path) = self.path() else {
            return Vec::new();
        };
        let edits: Vec<_> = self
            .0
            .get("edits")
            .into_iter()
            .flat_map(RawJson::elements)
            .collect();
        let edits = if edits.is_empty() {
            vec![self.0]
        } else {
            edits
        };
        let diff = |edit: RawJson<'_>| {
            let text = |key: &str| {
                let text = edit.get(key).and_then(RawJson::as_str);
                text.map(|text| text.decode().into_owned())
            };
            let new = text("new_string").or_else(|| text("content"))?;
            Some(Content::Diff {
                path: path.clone(),
                old: text("old_string"),
                new: Some(new),
                patch: None,
            })
        };
        edits.into_iter().filter_map(diff).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_shows_its_diff() {
        let input = r#"{"file_path":"/p/a.txt","old_string":"a\n","new_string":"b\n"}"#;
        let shown = of_tool("Edit", Some(input));
        assert_eq!(shown.kind, Some(ToolKind::Edit));
        assert_eq!(shown.title.as_deref(), Some("/p/a.txt"));
        let location = Location {
            path: "/p/a.txt".to_owned(),
            line: None,
        };
        assert_eq!(&*shown.locations, [location]);
        let diff = Content::Diff {
            path: "/p/a.txt".to_owned(),
            old: Some("a\n".to_owned()),
            new: Some("b\n".to_owned()),
            patch: None,
        };
        assert_eq!(&*shown.content, [diff]);
    }

    #[test]
    fn edits_of_one_call_are_diffs_each() {
        let input = r#"{"file_path":"/p","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":""}]}"#;
        assert_eq!(of_tool("MultiEdit", Some(input)).content.len(), 2);
        let shown = of_tool("Write", Some(r#"{"file_path":"/p","content":"x"}"#));
        assert!(matches!(
            &shown.content[..],
            [Content::Diff { old: None, .. }]
        ));
    }

    #[test]
    fn unknown_tool_or_input_shows_its_kind_alone() {
        assert_eq!(of_tool("", None), Shown::default());
        let shown = of_tool("mcp__x__y", Some("[1]"));
        assert_eq!((shown.kind, shown.title), (Some(ToolKind::Other), None));
        let shown = of_tool("Read", Some(r#"{"file_path":"/p","offset":7}"#));
        assert_eq!(shown.locations[0].line, Some(7));
    }
}
