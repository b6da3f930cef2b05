//! Notices; the crate documentation lists them.

use bowline_jsonl::{
    ApiRetry, CompactBoundary, Event, ModelRefusal, PermissionDenied, RawJson, Str, System,
    SystemBody,
};

use crate::model::Limit;
use crate::transcript::{LineContext, Transcript};

/// Members that may hold the text of a line with an unknown subtype, in order of preference.
const TEXT_MEMBERS: [&str; 4] = ["content", "text", "message", "summary"];

impl Transcript {
    pub(crate) fn system_notice(
        &mut self,
        event: &Event<'_>,
        system: &System<'_>,
        context: LineContext,
    ) {
        let name = system.subtype.decode();
        let text = match &system.body {
            SystemBody::Informational(line) => line.content.map(text_of),
            SystemBody::Notification(line) => line.text.map(text_of),
            SystemBody::LocalCommandOutput(line) => line.content.map(text_of),
            SystemBody::CompactBoundary(line) => Some(compacted(line)),
            SystemBody::ApiRetry(line) => {
                self.discard_drafts();
                Some(retried(line))
            }
            SystemBody::PermissionDenied(line) => Some(denied(line)),
            SystemBody::ModelRefusalFallback(line) | SystemBody::ModelRefusalNoFallback(line) => {
                self.retract(line.retracted_message_uuids);
                Some(refused(line))
            }
            SystemBody::SessionWritesLost(line) => Some(format!(
                "the agent could not write its own record: {}",
                line.error_code.unwrap_or_default()
            )),
            SystemBody::MirrorError(line) => line.error.map(text_of),
            SystemBody::PluginInstall(line) => line.error.map(text_of),
            SystemBody::WorkerShuttingDown(line) => line.reason.map(text_of),
            SystemBody::SessionTitleChanged(line) => {
                let title = line.title.map(text_of);
                self.set_neutral(|it| &mut it.title, title);
                None
            }
            SystemBody::CommandsChanged(line) => {
                if let Some(commands) = line.commands {
                    self.note_commands(commands);
                }
                None
            }
            SystemBody::Other => {
                self.count_unknown(format!("system/{name}"));
                return self.textual_notice(&name, event.raw, context);
            }
            _ => None,
        };
        if let Some(text) = text {
            self.notice(&name, &text, context);
        }
    }

    /// Adds a notice unless the text is empty.
    pub(crate) fn notice_of(&mut self, name: &str, text: Option<Str<'_>>, context: LineContext) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.notice(name, &text.decode(), context);
        }
    }

    /// Adds a notice for an unknown line that has a text.
    pub(crate) fn textual_notice(&mut self, name: &str, raw: RawJson<'_>, context: LineContext) {
        let member = |key: &&str| raw.get(key).and_then(RawJson::as_str);
        let text = TEXT_MEMBERS
            .iter()
            .find_map(|key| member(key).filter(|text| !text.is_empty()));
        self.notice_of(name, text, context);
    }

    pub(crate) fn rate_limit(&mut self, info: Option<RawJson<'_>>, context: LineContext) {
        let member = |key| {
            info.and_then(|info| info.get(key))
                .and_then(RawJson::as_str)
        };
        if let (Some(info), Some(window)) = (info, member("rateLimitType")) {
            // In seconds since the Unix epoch.
            let resets_at = info.get("resetsAt").and_then(RawJson::as_u64);
            self.set_limit(Limit {
                window: text_of(window),
                used_share: info.get("utilization").and_then(RawJson::as_f64),
                resets_at_ms: resets_at.map(|seconds| seconds.saturating_mul(1000)),
            });
        }
        if member("status").is_some_and(|status| status == "rejected") {
            let kind = member("rateLimitType").unwrap_or_default();
            let text = format!("the rate limit is reached {kind}");
            self.notice("rate_limit_event", text.trim_end(), context);
        }
    }
}

fn text_of(text: Str<'_>) -> String {
    text.decode().into_owned()
}

fn compacted(line: &CompactBoundary<'_>) -> String {
    let data = &line.compact_metadata;
    let tokens = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |it| it.to_string());
    format!(
        "the history was compacted ({}): {} tokens before, {} after",
        data.trigger.unwrap_or_default(),
        tokens(data.pre_tokens),
        tokens(data.post_tokens)
    )
}

fn retried(line: &ApiRetry<'_>) -> String {
    let mut text = format!(
        "attempt {} of {} in {} ms: {}",
        line.attempt.unwrap_or_default(),
        line.max_retries.unwrap_or_default(),
        line.retry_delay_ms.unwrap_or_default(),
        line.error.unwrap_or_default()
    );
    if let Some(status) = line.error_status {
        text.push_str(&format!(" ({status})"));
    }
    text
}

fn denied(line: &PermissionDenied<'_>) -> String {
    let why = line.message.or(line.decision_reason).unwrap_or_default();
    format!("{} was denied: {why}", line.tool_name.unwrap_or_default())
}

fn refused(line: &ModelRefusal<'_>) -> String {
    match line.content.filter(|content| !content.is_empty()) {
        Some(content) => text_of(content),
        None => format!("{} refused", line.original_model.unwrap_or_default()),
    }
}
