//! Parses the file of a policy.

use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::command::CommandPattern;
use super::error::{PolicyError, nearest};
use super::path::PathPattern;
use super::rule::{Rule, RuleDecision, RuleLabel};
use super::rules::Policy;

const KEYS: [&str; 2] = ["default", "rule"];
const RULE_KEYS: [&str; 7] = [
    "decision", "name", "tool", "path", "command", "host", "message",
];

/// Longest file, in bytes.
const MAX_BYTES: usize = 1 << 20;

type Table<'i> = DeTable<'i>;
type Value<'i> = Spanned<DeValue<'i>>;

impl Policy {
    /// Parses a policy in TOML. `source` is its file, or another name by which errors and transcripts refer to it.
    ///
    /// # Errors
    ///
    /// The text is not TOML, a key is unknown, or a value cannot be used. The error names the line, and the
    /// nearest key.
    pub fn parse(text: &str, source: &str) -> Result<Self, PolicyError> {
        let parser = Parser { text, source };
        if text.len() > MAX_BYTES {
            return Err(parser.error(0, None, "the file is larger than 1 MiB; shorten it"));
        }
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |it| it.start);
            parser.error(at, None, format!("{}; correct it", error.message()))
        })?;
        parser.policy(table.get_ref())
    }
}

struct Parser<'a> {
    text: &'a str,
    source: &'a str,
}

impl Parser<'_> {
    fn policy(&self, table: &Table<'_>) -> Result<Policy, PolicyError> {
        self.check_keys(table, &KEYS)?;
        let source: Arc<str> = self.source.into();
        let mut policy = Policy::default();
        if let Some(value) = table.get("default") {
            match self.decision("default", value)? {
                RuleDecision::Deny => policy.denies_by_default.push(Arc::clone(&source)),
                RuleDecision::Ask => {}
                RuleDecision::Allow => {
                    let reason = "cannot be allow; write a rule with `tool = \"*\"`";
                    return Err(self.error_at(value, "default", reason));
                }
            }
        }
        let Some(value) = table.get("rule") else {
            return Ok(policy);
        };
        let tables = value.get_ref().as_array();
        let tables =
            tables.ok_or_else(|| self.error_at(value, "rule", "is no list; write `[[rule]]`"))?;
        let rules = tables.iter().enumerate().map(|(at, rule)| {
            let table = rule.get_ref().as_table();
            let table = table
                .ok_or_else(|| self.error_at(rule, "rule", "is no table; write `[[rule]]`"))?;
            let label = RuleLabel {
                name: self.text(table, "name")?,
                number: at + 1,
                source: Arc::clone(&source),
            };
            self.rule(table, rule.span().start, label)
        });
        policy.rules = rules.collect::<Result<Vec<_>, _>>()?.into();
        Ok(policy)
    }

    fn rule(&self, table: &Table<'_>, at: usize, label: RuleLabel) -> Result<Rule, PolicyError> {
        self.check_keys(table, &RULE_KEYS)?;
        let Some(decision) = table.get("decision") else {
            let reason = format!("{label} has no `decision`; write allow, ask or deny");
            return Err(self.error(at, None, reason));
        };
        let rule = Rule {
            decision: self.decision("decision", decision)?,
            tools: self.patterns(table, "tool", |it| Ok(it.to_owned()))?,
            paths: self.patterns(table, "path", PathPattern::parse)?,
            commands: self.patterns(table, "command", CommandPattern::parse)?,
            hosts: self.patterns(table, "host", |it| {
                if it.contains(['/', ':', '@']) {
                    return Err("is no host; write it without scheme, port and path");
                }
                Ok(it.to_owned())
            })?,
            message: self.text(table, "message")?,
            label,
        };
        let has_condition = [&rule.tools, &rule.hosts].iter().any(|it| !it.is_empty())
            || !rule.paths.is_empty()
            || !rule.commands.is_empty();
        if !has_condition {
            let reason = format!(
                "{} has no condition; add `tool`, `path`, `command` or `host`, or `tool = \"*\"` for all",
                rule.label
            );
            return Err(self.error(at, None, reason));
        }
        Ok(rule)
    }

    fn check_keys(&self, table: &Table<'_>, known: &[&str]) -> Result<(), PolicyError> {
        let mut keys = table.iter().map(|(key, _)| key);
        let Some(key) = keys.find(|it| !known.contains(&&**it.get_ref())) else {
            return Ok(());
        };
        let reason = match nearest(key.get_ref(), known) {
            Some(nearest) => format!("is unknown; did you mean `{nearest}`?"),
            None => format!("is unknown; there are {}", known.join(", ")),
        };
        Err(self.error(key.span().start, Some(key.get_ref()), reason))
    }

    fn decision(&self, key: &str, value: &Value<'_>) -> Result<RuleDecision, PolicyError> {
        let text = self.string(key, value)?;
        RuleDecision::parse(text).ok_or_else(|| {
            let reason = match nearest(text, &RuleDecision::NAMES) {
                Some(nearest) => format!("is {text}; did you mean `{nearest}`?"),
                None => format!("is {text}; write allow, ask or deny"),
            };
            self.error_at(value, key, reason)
        })
    }

    fn text(&self, table: &Table<'_>, key: &str) -> Result<Option<String>, PolicyError> {
        let text = table.get(key).map(|it| self.string(key, it)).transpose()?;
        Ok(text.map(str::to_owned))
    }

    fn string<'v>(&self, key: &str, value: &'v Value<'_>) -> Result<&'v str, PolicyError> {
        let text = value.get_ref().as_str();
        text.ok_or_else(|| self.error_at(value, key, "is no string; put it in quotes"))
    }

    /// Parses a pattern, or a list of patterns.
    fn patterns<T>(
        &self,
        table: &Table<'_>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Result<Vec<T>, PolicyError> {
        let Some(value) = table.get(key) else {
            return Ok(Vec::new());
        };
        let values = match value.get_ref().as_array() {
            Some(list) if list.is_empty() => {
                let reason = "is an empty list, which matches nothing; leave it out";
                return Err(self.error_at(value, key, reason));
            }
            Some(list) => list.iter().collect(),
            None => vec![value],
        };
        let patterns = values.into_iter().map(|value| {
            let pattern = self.string(key, value)?;
            if pattern.is_empty() {
                return Err(self.error_at(value, key, "is empty; leave it out"));
            }
            parse(pattern).map_err(|reason| self.error_at(value, key, reason))
        });
        patterns.collect()
    }

    fn error_at(&self, value: &Value<'_>, key: &str, reason: impl Into<String>) -> PolicyError {
        self.error(value.span().start, Some(key), reason)
    }

    fn error(&self, at: usize, key: Option<&str>, reason: impl Into<String>) -> PolicyError {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        PolicyError {
            source: self.source.to_owned(),
            line: before.iter().filter(|it| **it == b'\n').count() + 1,
            key: key.map(str::to_owned),
            reason: reason.into(),
        }
    }
}
