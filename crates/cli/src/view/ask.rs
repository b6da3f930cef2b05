//! A permission request in full, for somebody who has to answer it.

use bowline_lifecycle::Question as Asked;
use serde_json::Value;

use crate::view::clean::{clean, one_line};

/// The arguments of a tool in full: one member a line, texts of several lines indented.
pub(crate) fn arguments(input: &Value) -> String {
    let Some(members) = input.as_object() else {
        return format!("    {}\n", clean(&input.to_string()));
    };
    let mut out = String::new();
    for (name, value) in members {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let text = clean(text.trim_end_matches('\n'));
        let mut lines = text.split('\n');
        out.push_str(&format!("    {}: ", one_line(name, 40)));
        match (lines.next(), text.contains('\n')) {
            (Some(only), false) => out.push_str(&format!("{only}\n")),
            (first, _) => {
                out.push('\n');
                for line in first.into_iter().chain(lines) {
                    out.push_str(&format!("      {line}\n"));
                }
            }
        }
    }
    out
}

/// What the rules that the agent suggests would allow for good.
pub(crate) fn allowances(suggestions: &Value) -> String {
    let rules = suggestions.as_array().into_iter().flatten();
    let words: Vec<_> = rules.map(allowance).collect();
    one_line(&words.join("; "), 200)
}

fn allowance(rule: &Value) -> String {
    let member = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
    let list = |key: &str| {
        rule.get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
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

/// One question of `AskUserQuestion`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) labels: Vec<String>,
    pub(crate) many: bool,
    lines: String,
}

impl Question {
    pub(crate) fn new(asked: &Asked) -> Self {
        let mut lines = format!("  {}\n", clean(&asked.question));
        for (at, option) in asked.options.iter().enumerate() {
            let (label, about) = (
                one_line(&option.label, 80),
                one_line(&option.description, 100),
            );
            let number = at + 1;
            let dash = if about.is_empty() { "" } else { " - " };
            lines.push_str(&format!("    {number}. {label}{dash}{about}\n"));
        }
        Self {
            text: asked.question.clone(),
            labels: asked.options.iter().map(|it| it.label.clone()).collect(),
            many: asked.multi_select,
            lines,
        }
    }

    /// The question with its numbered options.
    pub(crate) fn shown(&self) -> &str {
        &self.lines
    }

    /// The answer that somebody's line means: numbers are labels, anything else is said as it is.
    pub(crate) fn answer(&self, line: &str) -> Option<String> {
        let line = line.trim();
        let numbers: Option<Vec<_>> = line
            .split([',', ' '])
            .filter(|it| !it.is_empty())
            .map(|it| self.labels.get(it.parse::<usize>().ok()?.checked_sub(1)?))
            .collect();
        match numbers {
            _ if line.is_empty() => None,
            Some(labels) if labels.len() == 1 || self.many => {
                Some(labels.into_iter().cloned().collect::<Vec<_>>().join(", "))
            }
            Some(_) => None,
            None => Some(line.to_owned()),
        }
    }
}

/// A plan in full, indented.
pub(crate) fn plan(text: &str) -> String {
    let text = clean(text.trim());
    let lines = text.lines().map(|line| format!("    {line}\n"));
    format!("  the plan\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_labels() {
        let question = |many: bool| {
            let asked = json!({"question": "Which?", "multiSelect": many,
                "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}]});
            Question::new(&serde_json::from_value(asked).unwrap())
        };
        let many = question(true);
        assert_eq!(many.shown(), "  Which?\n    1. Red - warm\n    2. Blue\n");
        assert_eq!(many.answer("2"), Some("Blue".into()));
        assert_eq!(many.answer("1, 2"), Some("Red, Blue".into()));
        assert_eq!(many.answer("green"), Some("green".into()));
        assert_eq!(many.answer("3"), Some("3".into()));
        assert_eq!(many.answer(" "), None);
        assert_eq!(question(false).answer("1 2"), None);
    }

    #[test]
    fn a_plan_is_shown_in_full() {
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
    fn rules_are_told() {
        let rules = json!([
            {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}, {"toolName": "Read"}]},
            {"type": "setMode", "mode": "acceptEdits"},
            {"type": "addDirectories", "directories": ["/a"]},
        ]);
        assert_eq!(
            allowances(&rules),
            "Bash(ls), Read; mode acceptEdits; work in /a"
        );
    }
}
