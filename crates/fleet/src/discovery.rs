//! What a runner that advertises itself says of its sessions to programs that do not know Bowline.

use bowline_process::SessionId;
use serde_json::{Value, json};

use crate::member::LocalSession;

/// Maximum number of sessions in a reply, so that it fits in a message of the servers' default size whatever the texts
/// are.
const PAGE: usize = 200;

/// Longest text of a field, in characters.
const MAX_TEXT: usize = 200;

/// Fields of the REST API's list that a reply has.
const FIELDS: [&str; 10] = [
    "id",
    "name",
    "kind",
    "program",
    "cwd",
    "state",
    "phase",
    "title",
    "started_ms",
    "open_permissions",
];

/// Returns a page of sessions by their id, after that of the request; `next` is the last id if there are more.
pub(crate) fn page(mut sessions: Vec<LocalSession>, request: &[u8]) -> Value {
    let after = std::str::from_utf8(request).ok();
    let after = after.and_then(|it| it.trim().parse::<SessionId>().ok());
    sessions.sort_by_key(|it| it.id);
    sessions.retain(|it| after.is_none_or(|after| it.id > after));
    let has_more = sessions.len() > PAGE;
    sessions.truncate(PAGE);
    let next = sessions.last().filter(|_| has_more).map(|it| it.id);
    let sessions: Vec<_> = sessions.iter().map(brief).collect();
    json!({ "sessions": sessions, "next": next })
}

fn brief(session: &LocalSession) -> Value {
    let fields = FIELDS.iter().filter_map(|&name| {
        let value = match session.summary.get(name)? {
            Value::String(text) => text.chars().take(MAX_TEXT).collect::<String>().into(),
            value => value.clone(),
        };
        Some((name.to_owned(), value))
    });
    Value::Object(fields.collect())
}

#[cfg(test)]
mod tests {
    use bowline_wire::Epoch;

    use super::*;

    fn session() -> LocalSession {
        let id = SessionId::random();
        // Six bytes of JSON each.
        let text = "\u{1}".repeat(5_000);
        LocalSession {
            id,
            epoch: Epoch(1),
            has_ended: false,
            journal: std::path::PathBuf::new(),
            summary: json!({
                "id": id,
                "name": text,
                "program": text,
                "cwd": text,
                "title": text,
                "labels": { "a": "b" },
                "started_ms": 7,
            }),
            conversation: None,
            generation: None,
        }
    }

    #[test]
    fn pages_have_every_session_once_and_fit_in_a_message() {
        let sessions: Vec<_> = (0..1_200).map(|_| session()).collect();
        let (mut request, mut seen) = (String::new(), Vec::new());
        loop {
            let page = page(sessions.clone(), request.as_bytes());
            assert!(page.to_string().len() < 1 << 20);
            let ids = page["sessions"].as_array().unwrap().iter();
            seen.extend(ids.map(|it| it["id"].as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_str() else {
                break;
            };
            request = next.to_owned();
        }
        let mut expected: Vec<_> = sessions.iter().map(|it| it.id.to_string()).collect();
        expected.sort();
        seen.sort();
        assert_eq!(seen, expected);
    }

    #[test]
    fn reply_has_no_labels_and_short_texts() {
        let page = page(vec![session()], b"no id");
        let first = &page["sessions"][0];
        assert_eq!(first.get("labels"), None);
        assert_eq!(first["started_ms"], 7);
        assert_eq!(first["title"].as_str().unwrap().chars().count(), MAX_TEXT);
        assert_eq!(page["next"], Value::Null);
    }
}
