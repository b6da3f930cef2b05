//! The option `--format`: a line for each item of a list, from a template such as `{id} {phase}`.

use serde_json::Value;

use crate::failure::Failure;
use crate::text::{escape_json, one_line};

/// Longest value of a field, in columns.
const MAX_VALUE: usize = 1000;

/// A template: text, and names of fields in braces. A dot selects a member, as in `{exit.code}`; `{{` and `}}` are
/// braces, `\t` and `\n` a tab and a new line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Field(String),
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// If a brace is not closed.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.replace("\\t", "\t").replace("\\n", "\n");
        let (mut parts, mut literal) = (Vec::new(), String::new());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if (c == '{' || c == '}') && chars.next_if_eq(&c).is_some() {
                literal.push(c);
            } else if c == '{' {
                let name: String = chars.by_ref().take_while(|it| *it != '}').collect();
                if name.is_empty() || name.contains('{') {
                    return Err("a field needs a name in braces, such as {id}".to_owned());
                }
                parts.push(TemplatePart::Text(std::mem::take(&mut literal)));
                parts.push(TemplatePart::Field(name));
            } else {
                literal.push(c);
            }
        }
        parts.push(TemplatePart::Text(literal));
        Ok(Self(parts))
    }

    /// Formats the items, one a line.
    ///
    /// # Errors
    /// If no item has one of the fields.
    pub(crate) fn lines(&self, items: &[Value]) -> Result<String, Failure> {
        for part in &self.0 {
            if let TemplatePart::Field(name) = part {
                check(name, items)?;
            }
        }
        let lines = items.iter().map(|item| {
            let parts = self.0.iter().map(|part| match part {
                TemplatePart::Text(text) => text.clone(),
                TemplatePart::Field(name) => field(item, name).map_or_else(|| "-".to_owned(), text),
            });
            format!("{}\n", parts.collect::<String>())
        });
        Ok(lines.collect())
    }
}

fn check(name: &str, items: &[Value]) -> Result<(), Failure> {
    if items.is_empty() || items.iter().any(|item| field(item, name).is_some()) {
        return Ok(());
    }
    let members = items.iter().filter_map(Value::as_object).next();
    let names = members.map(|it| it.keys().map(String::as_str).collect::<Vec<_>>());
    let names = names.unwrap_or_default().join(", ");
    Err(Failure::usage(format!(
        "--format: there is no field {name:?}; the fields are {names}"
    )))
}

fn field<'a>(item: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(item, |value, name| value.get(name))
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => one_line(text, MAX_VALUE),
        value => escape_json(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(template: &str, items: &[Value]) -> Result<String, Failure> {
        Template::parse(template).unwrap().lines(items)
    }

    #[test]
    fn fields_are_filled_in() {
        let items = [
            json!({"id": "a", "n": 1, "exit": {"code": 0}}),
            json!({"id": "b\x1b[2J", "n": null, "exit": null, "labels": {"a": "\u{9b}2J"}}),
        ];
        let text = lines("{{{id}}}\\t{n} {exit.code}", &items).unwrap();
        assert_eq!(text, "{a}\t1 0\n{b}\t- -\n");
        let text = lines("{labels}", &items).unwrap();
        assert_eq!(text, "-\n{\"a\":\"\\u009b2J\"}\n");
        assert_eq!(lines("{any}", &[]).unwrap(), "");
    }

    #[test]
    fn unknown_field_names_the_known_ones() {
        let failure = lines("{identity}", &[json!({"id": 1, "n": 2})]).unwrap_err();
        assert!(
            failure.line().ends_with("the fields are id, n"),
            "{failure:?}"
        );
        for wrong in ["{}", "{a{b}"] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }
}
