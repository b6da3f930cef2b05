//! What a tool is asked to do, on one line.

use serde_json::Value;

use crate::view::one_line;

/// Members that say most about a call, in order of preference, over all of the agent's tools.
const TELLING: [&str; 13] = [
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

/// The input of a call on one line of at most `width` columns; paths below `cwd` are shortened.
pub(crate) fn summary(input: &str, cwd: Option<&str>, width: usize) -> String {
    let Ok(value) = serde_json::from_str::<Value>(input) else {
        return one_line(input, width);
    };
    let telling = TELLING.iter().find_map(|key| value.get(key)?.as_str());
    match telling.or_else(|| first_question(&value)) {
        Some(text) => one_line(below(text, cwd), width),
        None if value.as_object().is_some_and(serde_json::Map::is_empty) => String::new(),
        None => one_line(input, width),
    }
}

fn first_question(input: &Value) -> Option<&str> {
    input.get("questions")?.get(0)?.get("question")?.as_str()
}

/// A path without the folder that everybody is in.
fn below<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let inside = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    inside.filter(|it| !it.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_telling_member_is_shown() {
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
