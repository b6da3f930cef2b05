//! What a reader is told beside the conversation. The crate's documentation has the table.

use bowline_jsonl::{
    ApiRetry, CompactBoundary, Event, ModelRefusal, PermissionDenied, RawJson, Str, System,
    SystemBody,
};

use crate::record::{EntryBody, ThreadId};
use crate::transcript::{Here, Transcript};

/// Members that hold the text of a line whose subtype is not known, in order of preference.
const TEXTS: [&str; 4] = ["content", "text", "message", "summary"];

impl Transcript {
    pub(crate) fn system_notice(&mut self, event: &Event<'_>, system: &System<'_>, here: Here) {
        let name = system.subtype.decode();
        let text = match &system.body {
            SystemBody::Informational(line) => line.content.map(text_of),
            SystemBody::Notification(line) => line.text.map(text_of),
            SystemBody::LocalCommandOutput(line) => line.content.map(text_of),
            SystemBody::CompactBoundary(line) => Some(compacted(line)),
            SystemBody::ApiRetry(line) => {
                self.void_drafts();
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
            SystemBody::Other => {
                self.count_unknown(format!("system/{name}"));
                return self.textual_notice(&name, event.raw, here);
            }
            _ => None,
        };
        if let Some(text) = text {
            self.notice(&name, &text, here);
        }
    }

    pub(crate) fn notice(&mut self, name: &str, text: &str, here: Here) {
        let notice = self.names.keep(name);
        let text = self.keep(text);
        self.entry(ThreadId::MAIN, EntryBody::Notice { notice, text }, here);
    }

    /// A notice, when there is something to say.
    pub(crate) fn notice_of(&mut self, name: &str, text: Option<Str<'_>>, here: Here) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.notice(name, &text.decode(), here);
        }
    }

    /// A line that is not known may still say something.
    pub(crate) fn textual_notice(&mut self, name: &str, raw: RawJson<'_>, here: Here) {
        let said = |key: &&str| raw.get(key).and_then(RawJson::as_str);
        let text = TEXTS
            .iter()
            .find_map(|key| said(key).filter(|text| !text.is_empty()));
        self.notice_of(name, text, here);
    }

    pub(crate) fn rate_limit(&mut self, info: Option<RawJson<'_>>, here: Here) {
        let member = |key| {
            info.and_then(|info| info.get(key))
                .and_then(RawJson::as_str)
        };
        if member("status").is_some_and(|status| status == "rejected") {
            let kind = member("rateLimitType").unwrap_or_default();
            let text = format!("the rate limit is reached {kind}");
            self.notice("rate_limit_event", text.trim_end(), here);
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
        "the history was compacted ({}): {} tokens before, {} behind",
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
