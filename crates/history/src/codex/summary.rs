//! What is listed of a rollout, without parsing all of it.

use std::sync::LazyLock;

use bowline_jsonl::RawJson;
use memchr::memmem::Finder;

use super::convert::prompt;
use crate::conversation::{Summary, title_of, unix_ms};
use crate::lines::{Lines, is_kind, text};

struct Parts {
    meta: Finder<'static>,
    /// A prompt as an item, since 0.160 or so, and as an event before.
    item: Finder<'static>,
    event: Finder<'static>,
    context: Finder<'static>,
    time: Finder<'static>,
}

static PARTS: LazyLock<Parts> = LazyLock::new(|| Parts {
    meta: Finder::new(r#""type":"session_meta""#),
    item: Finder::new(r#""type":"UserMessage""#),
    event: Finder::new(r#""type":"user_message""#),
    context: Finder::new(r#""type":"turn_context""#),
    time: Finder::new(r#""timestamp":"#),
});

/// Summarizes the contents of a rollout.
pub(crate) fn summary(data: &[u8]) -> Summary {
    let (lines, parts) = (Lines(data), &*PARTS);
    let meta = lines.first(&parts.meta, |line| payload(line, "session_meta"));
    let of_meta = |key: &str| text(meta?, key);
    let prompts = |part| {
        let lines = lines.with(part).filter_map(crate::lines::parse);
        lines.filter_map(prompt).collect::<Vec<_>>()
    };
    let mut texts = prompts(&parts.item);
    if texts.is_empty() {
        texts = prompts(&parts.event);
    }
    Summary {
        title: texts.first().and_then(|(_, text)| title_of(text)),
        cwd: of_meta("cwd").map(Into::into),
        branch: meta.and_then(|meta| text(meta.get("git")?, "branch")),
        model: lines.last(&parts.context, |line| {
            text(payload(line, "turn_context")?, "model")
        }),
        turns: u32::try_from(texts.len()).unwrap_or(u32::MAX),
        cost_usd: None,
        last_activity_ms: lines.last(&parts.time, |line| unix_ms(&text(line, "timestamp")?)),
        is_listed: !texts.is_empty() && of_meta("parent_thread_id").is_none(),
    }
}

fn payload<'a>(line: RawJson<'a>, kind: &str) -> Option<RawJson<'a>> {
    line.get("payload").filter(|_| is_kind(line, kind))
}
