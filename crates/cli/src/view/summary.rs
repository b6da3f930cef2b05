//! Summarizes a tool's input on one line.

use serde_json::Value;

use crate::text::one_line;

/// Members that describe a call best, in order of preference, over all of the agent's tools.
const MEMBERS: [&str; 13] = [
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "skill",
    "description",
    "task_id",
    "path",
    "message",
    "prompt",
    "plan",
];

/// Summarizes an input in at most `width` columns. Paths below `cwd` become relative.
pub(super) fn summary(input: &str, cwd: Option<&str>, width: usize) -> String {
    let Ok(value) = serde_json::from_str::<Value>(input) else {
        return one_line(input, width);
    };
    let member = MEMBERS.iter().find_map(|key| value.get(key)?.as_str());
    match member.or_else(|| first_question(&value)) {
        Some(text) => one_line(relative(text, cwd), width),
        None if value.as_object().is_some_and(serde_json::Map::is_empty) => String::new(),
        None => one_line(input, width),
    }
}

fn first_question(input: &Value) -> Option<&str> {
    input.get("questions")?.get(0)?.get("question")?.as_str()
}

/// Returns a path relative to `cwd` if it is below it.
fn relative<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let inside = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    inside.filter(|it| !it.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_prefers_the_descriptive_member() {
        let cases = [
            (r#"{"command":"ls -l\n","description":"list"}"#, "ls -l"),
            (r#"{"file_path":"/home/dev/a/b.rs"}"#, "a/b.rs"),
            (
                r#"{"file_path":"/home/developer/b.rs"}"#,
                "/home/developer/b.rs",
            ),
            (r#"{"description":"look","prompt":"Look."}"#, "look"),
            (r#"{"questions":[{"question":"Which?"}]}"#, "Which?"),
            (r#"{"n":1,"m":[2]}"#, r#"{"n":1,"m":[2]}"#),
            ("{}", ""),
            ("[1, 2]", "[1, 2]"),
        ];
        for (input, wanted) in cases {
            assert_eq!(summary(input, Some("/home/dev"), 80), wanted, "{input}");
        }
    }
}
