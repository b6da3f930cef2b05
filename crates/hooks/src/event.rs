//! A hook event.

use std::sync::Arc;

use bowline_jsonl::RawJson;
use serde_json::{Map, Value};

use crate::kind::{HookKind, HookPayload};

/// A hook event. A member that the agent left out is `None`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HookEvent {
    /// The event's number in the order of arrival at the server, from 0.
    pub sequence: u64,
    /// The interaction whose URL the event was posted to.
    pub interaction: Arc<str>,
    /// The kind of event.
    pub kind: HookKind,
    /// The members of this kind of event.
    pub payload: HookPayload,
    /// The agent's session id.
    pub session_id: Option<String>,
    /// The file of the session's main transcript; the agent writes it later than it sends events.
    pub transcript_path: Option<String>,
    /// The agent's working directory.
    pub cwd: Option<String>,
    /// The id of the current prompt.
    pub prompt_id: Option<String>,
    /// The permission mode.
    pub permission_mode: Option<String>,
    /// The id of the sub-agent that sent it.
    pub agent_id: Option<String>,
    /// The type of that sub-agent.
    pub agent_type: Option<String>,
    /// The model's effort level.
    pub effort: Option<String>,
    raw: Arc<str>,
}

impl HookEvent {
    /// Returns the JSON object as the agent wrote it, with every member, known or not.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Parses the body of a request; `None` if it is not a JSON object.
    pub(crate) fn parse(interaction: Arc<str>, body: &[u8]) -> Option<Self> {
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

/// Parses the members of an object. The agent passes on lone surrogates (`\ud83d`), which RFC 8259
/// allows and serde_json rejects; then jsonl decodes them to U+FFFD first.
fn members(raw: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(raw).ok().or_else(|| {
        let mut lossy = String::with_capacity(raw.len());
        RawJson::parse(raw)?.write_lossy(&mut lossy);
        serde_json::from_str(&lossy).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(body: &str) -> Option<HookEvent> {
        HookEvent::parse("i".into(), body.as_bytes())
    }

    #[test]
    fn common_and_specific_members_are_parsed() {
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
            "unknown members are kept"
        );
    }

    #[test]
    fn unknown_event_is_passed_through() {
        let unknown = event(r#"{"hook_event_name":"Brandnew","x":1}"#).unwrap();
        assert_eq!(unknown.kind, HookKind::Other("Brandnew".to_owned()));
        assert_eq!(unknown.payload, HookPayload::Other);
        let nameless = event("{}").unwrap();
        assert_eq!(nameless.kind, HookKind::Other(String::new()));
        let mistyped = event(r#"{"hook_event_name":"SessionEnd","reason":7}"#).unwrap();
        assert_eq!(
            (mistyped.kind, mistyped.payload),
            (HookKind::SessionEnd, HookPayload::Other)
        );
    }

    #[test]
    fn lone_surrogate_is_replaced_in_members_and_kept_raw() {
        let event = event(r#"{"hook_event_name":"UserPromptSubmit","prompt":"a\ud83d"}"#).unwrap();
        let HookPayload::UserPromptSubmit { prompt, .. } = &event.payload else {
            panic!("{event:?}");
        };
        assert_eq!(prompt, "a\u{fffd}");
        assert!(event.raw().contains(r"\ud83d"));
    }

    #[test]
    fn body_that_is_no_object_is_rejected() {
        for body in ["", "[]", "null", "{", "{}{}", "\u{1}"] {
            assert!(event(body).is_none(), "{body:?}");
        }
        assert!(HookEvent::parse("i".into(), b"{\"a\":\"\xff\"}").is_none());
    }

    #[test]
    fn every_kind_parses_from_its_name() {
        assert_eq!(HookKind::ALL.len(), 33);
        for kind in HookKind::ALL {
            assert_eq!(&HookKind::of(kind.name()), kind);
            let bare = event(&format!(r#"{{"hook_event_name":"{}"}}"#, kind.name())).unwrap();
            assert_ne!(bare.payload, HookPayload::Other, "{kind:?} without members");
        }
    }
}
