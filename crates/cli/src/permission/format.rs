//! The text of permission requests.

use bowline_lifecycle::Question;
use bowline_reducer::PermissionState;
use serde_json::Value;

use super::diff::changed_lines;
use crate::style::{ColorMode, Paint};
use crate::text::{one_line, sanitize};

/// Returns what the dialogue says about a request in this state, after the tool's name.
pub(crate) const fn state_label(state: PermissionState) -> (Paint, &'static str) {
    match state {
        PermissionState::Open => (Paint::Ask, "asks for permission"),
        PermissionState::Allowed => (Paint::Good, "was allowed"),
        PermissionState::Denied => (Paint::Bad, "was denied"),
        PermissionState::Answered => (Paint::Dim, "was answered"),
        PermissionState::Withdrawn => (Paint::Dim, "request was withdrawn by the agent"),
        PermissionState::Expired | PermissionState::Orphaned => (Paint::Dim, "got no answer"),
        _ => (Paint::Dim, "was closed"),
    }
}

/// The members of an edit that are shown as a difference.
const EDIT: [&str; 2] = ["old_string", "new_string"];

/// Formats the arguments of a tool in full: one member a line, texts of several lines indented. The texts of an
/// edit are shown as a difference.
pub(super) fn arguments(input: &Value) -> String {
    let Some(members) = input.as_object() else {
        return format!("    {}\n", sanitize(&input.to_string()));
    };
    let edit = EDIT.map(|name| members.get(name).and_then(Value::as_str));
    let mut out = String::new();
    for (name, value) in members {
        if let [Some(old), Some(new)] = edit
            && EDIT.contains(&name.as_str())
        {
            if name == EDIT[0] {
                out.push_str(&difference(old, new));
            }
            continue;
        }
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let text = sanitize(text.trim_end_matches('\n'));
        out.push_str(&format!("    {}: ", one_line(name, 40)));
        if text.contains('\n') {
            out.push('\n');
            for line in text.split('\n') {
                out.push_str(&format!("      {line}\n"));
            }
        } else {
            out.push_str(&format!("{text}\n"));
        }
    }
    out
}

fn difference(old: &str, new: &str) -> String {
    let colors = ColorMode::of_stdout();
    let lines = changed_lines(&sanitize(old), &sanitize(new));
    let painted = lines.iter().map(|line| {
        let paint = match line.chars().next() {
            Some('-') => Paint::Bad,
            Some('+') => Paint::Good,
            _ => Paint::Plain,
        };
        format!("      {}\n", colors.painted(paint, line))
    });
    painted.collect()
}

/// Formats a plan in full, indented.
pub(super) fn plan(text: &str) -> String {
    let text = sanitize(text.trim());
    let lines = text.lines().map(|line| format!("    {line}\n"));
    format!("  the plan\n{}", lines.collect::<String>())
}

/// Formats the permission rules that the agent suggests, on one line.
pub(super) fn suggested_rules(suggestions: &Value) -> String {
    let rules = suggestions.as_array().into_iter().flatten();
    let rules: Vec<_> = rules.map(suggested_rule).collect();
    one_line(&rules.join("; "), 200)
}

fn suggested_rule(rule: &Value) -> String {
    let member = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
    let list = |key: &str| {
        let list = rule.get(key).and_then(Value::as_array);
        list.into_iter().flatten()
    };
    match member("type") {
        "addRules" | "replaceRules" => list("rules").map(tool_rule).collect::<Vec<_>>().join(", "),
        "setMode" => format!("mode {}", member("mode")),
        "addDirectories" => {
            let folders: Vec<_> = list("directories").filter_map(Value::as_str).collect();
            format!("work in {}", folders.join(", "))
        }
        _ => rule.to_string(),
    }
}

fn tool_rule(rule: &Value) -> String {
    let member = |key: &str| rule.get(key).and_then(Value::as_str);
    let tool = member("toolName").unwrap_or("?");
    match member("ruleContent") {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    }
}

/// Formats a question of `AskUserQuestion` with its numbered options.
pub(super) fn question(question: &Question) -> String {
    let mut out = format!("  {}\n", sanitize(&question.question));
    for (number, option) in (1..).zip(&question.options) {
        let label = one_line(&option.label, 80);
        let description = one_line(&option.description, 100);
        let dash = if description.is_empty() { "" } else { " - " };
        out.push_str(&format!("    {number}. {label}{dash}{description}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn question_lists_numbered_options() {
        let asked = json!({"question": "Which?", "multiSelect": false,
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}]});
        let asked = serde_json::from_value(asked).unwrap();
        assert_eq!(
            question(&asked),
            "  Which?\n    1. Red - warm\n    2. Blue\n"
        );
    }

    #[test]
    fn plan_is_shown_in_full() {
        assert_eq!(
            plan("\n# Do\n\n1. it\u{1b}[2J\n"),
            "  the plan\n    # Do\n    \n    1. it\n"
        );
    }

    #[test]
    fn arguments_are_shown_in_full() {
        let input = json!({"command": "a\nb\n", "n": 3, "x": "\u{1b}[2Jy"});
        assert_eq!(
            arguments(&input),
            "    command: \n      a\n      b\n    n: 3\n    x: y\n"
        );
    }

    #[test]
    fn edit_is_shown_as_a_difference() {
        let input = json!({"file_path": "/a.rs", "old_string": "one\ntwo\n", "new_string": "one\n2\u{1b}[2J\n"});
        assert_eq!(
            arguments(&input),
            "    file_path: /a.rs\n        one\n      - two\n      + 2\n"
        );
    }

    #[test]
    fn suggested_rules_fit_on_one_line() {
        let rules = json!([
            {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}, {"toolName": "Read"}]},
            {"type": "setMode", "mode": "acceptEdits"},
            {"type": "addDirectories", "directories": ["/a"]},
        ]);
        assert_eq!(
            suggested_rules(&rules),
            "Bash(ls), Read; mode acceptEdits; work in /a"
        );
    }
}
