//! One event, as a hook brought it.

use std::sync::Arc;

use bowline_jsonl::RawJson;
use serde_json::{Map, Value};

use super::kind::{HookKind, HookPayload};

/// One event, as a hook brought it (protocol, section D.2). What the agent left out is none.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HookEvent {
    /// The event's place in the order of arrival, from 0.
    pub sequence: u64,
    /// The interaction whose settings the hook was in.
    pub interaction: Arc<str>,
    /// Which event it is.
    pub kind: HookKind,
    /// What it tells beyond what all events do.
    pub payload: HookPayload,
    /// The agent's session.
    pub session_id: Option<String>,
    /// The session's main transcript, which lags.
    pub transcript_path: Option<String>,
    /// The agent's working directory.
    pub cwd: Option<String>,
    /// The prompt that is being answered.
    pub prompt_id: Option<String>,
    /// The permission mode.
    pub permission_mode: Option<String>,
    /// The sub-agent that it happened in.
    pub agent_id: Option<String>,
    /// The sub-agent's kind.
    pub agent_type: Option<String>,
    /// How hard the model thinks.
    pub effort: Option<String>,
    raw: Arc<str>,
}

impl HookEvent {
    /// The event as the agent wrote it: a JSON object with every member, known or not.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Reads what a hook was given; none if it is not a JSON object.
    pub(super) fn parse(interaction: Arc<str>, body: &[u8]) -> Option<Self> {
        let raw = std::str::from_utf8(body).ok()?.trim();
        let members = members(raw)?;
        let text = |name: &str| members.get(name)?.as_str().map(str::to_owned);
        let kind = HookKind::of(&text("hook_event_name").unwrap_or_default());
        let effort = members.get("effort").and_then(|it| it.get("level"));
        Some(Self {
            sequence: 0,
            interaction,
            kind,
            session_id: text("session_id"),
            transcript_path: text("transcript_path"),
            cwd: text("cwd"),
            prompt_id: text("prompt_id"),
            permission_mode: text("permission_mode"),
            agent_id: text("agent_id"),
            agent_type: text("agent_type"),
            effort: effort.and_then(Value::as_str).map(str::to_owned),
            raw: raw.into(),
            payload: serde_json::from_value(Value::Object(members)).unwrap_or(HookPayload::Other),
        })
    }
}

/// The members of an object. The agent writes half a surrogate pair as it finds it, which is JSON
/// but no text: only then the event is read by our own grammar, which knows that.
fn members(raw: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(raw).ok().or_else(|| {
        let mut whole = String::with_capacity(raw.len());
        RawJson::parse(raw)?.write_lossy(&mut whole);
        serde_json::from_str(&whole).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(body: &str) -> Option<HookEvent> {
        HookEvent::parse("i".into(), body.as_bytes())
    }

    #[test]
    fn an_event_is_read_with_what_all_events_tell() {
        let event = event(
            r#"{"session_id":"s","transcript_path":"/t","cwd":"/c","prompt_id":"p","effort":{"level":"low"},
               "permission_mode":"plan","agent_id":"a","agent_type":"x","hook_event_name":"PreToolUse",
               "tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1","new":[1]}"#,
        )
        .unwrap();
        assert_eq!(event.kind, HookKind::PreToolUse);
        assert_eq!(event.session_id.as_deref(), Some("s"));
        assert_eq!(event.effort.as_deref(), Some("low"));
        let HookPayload::PreToolUse {
            tool_name,
            tool_input,
            tool_use_id,
            ..
        } = &event.payload
        else {
            panic!("{event:?}");
        };
        assert_eq!((tool_name.as_str(), tool_use_id.as_str()), ("Bash", "t1"));
        assert_eq!(tool_input["command"], "ls");
        assert!(
            event.raw().contains(r#""new":[1]"#),
            "what is not known is kept"
        );
    }

    #[test]
    fn what_is_not_known_is_passed_through() {
        let unknown = event(r#"{"hook_event_name":"Brandnew","x":1}"#).unwrap();
        assert_eq!(unknown.kind, HookKind::Other("Brandnew".to_owned()));
        assert_eq!(unknown.payload, HookPayload::Other);
        let nameless = event("{}").unwrap();
        assert_eq!(nameless.kind, HookKind::Other(String::new()));
        let odd = event(r#"{"hook_event_name":"SessionEnd","reason":7}"#).unwrap();
        assert_eq!(
            (odd.kind, odd.payload),
            (HookKind::SessionEnd, HookPayload::Other)
        );
    }

    #[test]
    fn half_a_surrogate_pair_is_legal() {
        let event = event(r#"{"hook_event_name":"UserPromptSubmit","prompt":"a\ud83d"}"#).unwrap();
        let HookPayload::UserPromptSubmit { prompt, .. } = &event.payload else {
            panic!("{event:?}");
        };
        assert_eq!(prompt, "a\u{fffd}");
        assert!(event.raw().contains(r"\ud83d"));
    }

    #[test]
    fn what_is_no_object_is_no_event() {
        for body in ["", "[]", "null", "{", "{}{}", "\u{1}"] {
            assert!(event(body).is_none(), "{body:?}");
        }
        assert!(HookEvent::parse("i".into(), b"{\"a\":\"\xff\"}").is_none());
    }

    #[test]
    fn every_kind_has_its_name() {
        assert_eq!(HookKind::ALL.len(), 33, "protocol, section D.3");
        for kind in HookKind::ALL {
            assert_eq!(&HookKind::of(kind.name()), kind);
            let bare = event(&format!(r#"{{"hook_event_name":"{}"}}"#, kind.name())).unwrap();
            assert_ne!(bare.payload, HookPayload::Other, "{kind:?} needs no member");
        }
    }
}
