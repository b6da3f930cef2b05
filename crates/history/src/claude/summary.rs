//! What is listed of a conversation, without parsing all of it.

use std::collections::HashSet;
use std::sync::LazyLock;

use bowline_jsonl::RawJson;
use memchr::memmem::Finder;

use super::prompt::prompt;
use crate::conversation::{Summary, title_of, unix_ms};
use crate::lines::{Lines, is_kind, is_set, parse, text};

/// The model of messages that the agent composed itself.
const SYNTHETIC: &str = "<synthetic>";

/// The parts by which lines are found. In a JSON string the quotes would be escaped, so that each is
/// a member.
struct Parts {
    user: Finder<'static>,
    result: Finder<'static>,
    assistant: Finder<'static>,
    title: Finder<'static>,
    summary: Finder<'static>,
    cost: Finder<'static>,
    cwd: Finder<'static>,
    branch: Finder<'static>,
    time: Finder<'static>,
    uuid: Finder<'static>,
}

static PARTS: LazyLock<Parts> = LazyLock::new(|| Parts {
    user: Finder::new(r#""type":"user""#),
    result: Finder::new(r#""type":"tool_result""#),
    assistant: Finder::new(r#""type":"assistant""#),
    title: Finder::new(r#"-title""#),
    summary: Finder::new(r#""type":"summary""#),
    cost: Finder::new(r#""type":"cost-state""#),
    cwd: Finder::new(r#""cwd":"#),
    branch: Finder::new(r#""gitBranch":"#),
    time: Finder::new(r#""timestamp":"#),
    uuid: Finder::new(r#""uuid":"#),
});

/// Summarizes the contents of a conversation's file.
pub(crate) fn summary(data: &[u8]) -> Summary {
    let (lines, parts) = (Lines(data), &*PARTS);
    let mut prompts = lines
        .with(&parts.user)
        .filter(|line| parts.result.find(line).is_none())
        .filter_map(parse)
        .filter_map(prompt);
    let first = prompts.next();
    let turns = prompts.count() + usize::from(first.is_some());
    let model = model(lines);
    let is_answered = || lines.first(&parts.assistant, |line| is_message(line).then_some(()));
    Summary {
        title: title(lines).or_else(|| title_of(first.as_deref()?)),
        cwd: lines
            .first(&parts.cwd, |line| text(line, "cwd"))
            .map(Into::into),
        branch: lines.last(&parts.branch, |line| text(line, "gitBranch")),
        cost_usd: lines.last(&parts.cost, cost),
        last_activity_ms: lines.last(&parts.time, |line| unix_ms(&text(line, "timestamp")?)),
        turns: u32::try_from(turns).unwrap_or(u32::MAX),
        is_listed: turns > 0 || model.is_some() || is_answered().is_some(),
        model,
    }
}

/// Returns whether a line is a message of the main conversation.
fn is_message(line: RawJson<'_>) -> bool {
    (is_kind(line, "user") || is_kind(line, "assistant")) && !is_set(line, "isSidechain")
}

/// The model of the last answer in the main conversation.
pub(super) fn model(lines: Lines<'_>) -> Option<String> {
    lines.last(&PARTS.assistant, |line| {
        let is_answer = is_kind(line, "assistant") && !is_set(line, "isSidechain");
        let model = text(line.get("message").filter(|_| is_answer)?, "model")?;
        (model != SYNTHETIC).then_some(model)
    })
}

fn cost(line: RawJson<'_>) -> Option<f64> {
    let is_cost = is_kind(line, "cost-state");
    line.get("totalCostUSD").filter(|_| is_cost)?.as_f64()
}

/// The title that the user gave, else the one that the agent gave.
pub(super) fn title(lines: Lines<'_>) -> Option<String> {
    let of = |kind: &'static str, key: &'static str| {
        move |line: RawJson<'_>| is_kind(line, kind).then(|| text(line, key))?
    };
    let parts = &*PARTS;
    let title = lines.last(&parts.title, of("custom-title", "customTitle"));
    let title = title.or_else(|| lines.last(&parts.title, of("ai-title", "aiTitle")));
    let title = title.or_else(|| own_summary(lines));
    title_of(&title?)
}

/// The last summary of this conversation: older agents add those of others to the file.
fn own_summary(lines: Lines<'_>) -> Option<String> {
    let summaries = lines.with(&PARTS.summary).filter_map(parse);
    let summaries = summaries.filter(|line| is_kind(*line, "summary"));
    let summaries: Vec<_> = summaries
        .filter_map(|line| Some((text(line, "leafUuid")?, text(line, "summary")?)))
        .collect();
    if summaries.is_empty() {
        return None;
    }
    // All at once: a file may have any number of them.
    let leaves: HashSet<&str> = summaries.iter().map(|(leaf, _)| leaf.as_str()).collect();
    let leaf = |line| text(line, "uuid").filter(|uuid| leaves.contains(uuid.as_str()));
    let uuids = lines.with(&PARTS.uuid).filter_map(parse);
    let own: HashSet<String> = uuids.filter_map(leaf).collect();
    let last = summaries.into_iter().rev().find(|it| own.contains(&it.0));
    last.map(|(_, summary)| summary)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::lines::tests::SEARCHED;

    /// Bytes that are searched for the title of a conversation with summaries of others.
    fn searched(count: usize) -> f64 {
        let mut file = String::new();
        for number in 0..count {
            let _ = writeln!(
                file,
                r#"{{"type":"summary","summary":"S","leafUuid":"other{number}"}}"#
            );
            let _ = writeln!(
                file,
                r#"{{"type":"user","uuid":"u{number}","message":{{}}}}"#
            );
        }
        let before = SEARCHED.get();
        assert_eq!(title(Lines(file.as_bytes())), None);
        (SEARCHED.get() - before) as f64
    }

    #[test]
    fn summaries_of_other_conversations_scale() {
        let ratio = searched(600) / searched(300);
        assert!(ratio <= 2.3, "{ratio:.1}");
    }

    #[test]
    fn last_own_summary_is_the_title() {
        let lines = [
            r#"{"type":"summary","summary":"first","leafUuid":"u1"}"#,
            r#"{"type":"summary","summary":"last","leafUuid":"u2"}"#,
            r#"{"type":"summary","summary":"other","leafUuid":"u3"}"#,
            r#"{"type":"user","uuid":"u1"}"#,
            r#"{"type":"user","uuid":"u2","parentUuid":"u3"}"#,
        ];
        let file = lines.join("\n");
        assert_eq!(title(Lines(file.as_bytes())).as_deref(), Some("last"));
    }
}
