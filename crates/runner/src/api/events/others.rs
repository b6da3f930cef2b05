//! The sessions of other runners of a fleet, as events of all sessions.

use std::collections::BTreeMap;

use bowline_transport::SessionId;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::item::{Item, ItemKind, SessionHead};
use super::reader::Kinds;
use crate::other_runners::OtherSession;

/// Members of a summary whose change is an event.
const STATUS: [&str; 3] = ["phase", "reason", "open_permissions"];

/// The same of its member `fleet`.
const PLACE: [&str; 4] = ["runner", "name", "state", "generation"];

/// Compares each list of the sessions with the one before it.
#[derive(Debug)]
pub(super) struct OtherReader {
    lists: mpsc::Receiver<Vec<OtherSession>>,
    known: BTreeMap<SessionId, Value>,
    kinds: Kinds,
}

impl OtherReader {
    pub(super) fn new(lists: mpsc::Receiver<Vec<OtherSession>>, kinds: Kinds) -> Self {
        Self {
            lists,
            known: BTreeMap::new(),
            kinds,
        }
    }

    /// Returns the events of the next list with any. Never returns once the fleet is left. Cancel safe.
    pub(super) async fn next(&mut self) -> Vec<Bytes> {
        while let Some(list) = self.lists.recv().await {
            let events = self.compare(list);
            if !events.is_empty() {
                return events;
            }
        }
        std::future::pending().await
    }

    fn compare(&mut self, list: Vec<OtherSession>) -> Vec<Bytes> {
        let listed: BTreeMap<_, _> = list.into_iter().map(|it| (it.id, it.summary)).collect();
        let gone = self.known.keys().filter(|id| !listed.contains_key(id));
        let removed = gone.map(|id| SessionHead::anonymous(*id).item(ItemKind::Removed, &()));
        let changed = listed.iter().filter_map(|(id, summary)| {
            event(&SessionHead::anonymous(*id), self.known.get(id), summary)
        });
        let items: Vec<_> = removed.chain(changed).collect();
        self.known = listed;
        let wanted = items.into_iter().filter(|it| self.kinds.contains(&it.kind));
        wanted.map(|it| it.json).collect()
    }
}

/// Returns the event of a session's summary, if it differs from the known one.
fn event(head: &SessionHead, known: Option<&Value>, summary: &Value) -> Option<Item> {
    let Some(known) = known else {
        return Some(head.item(ItemKind::Created, summary));
    };
    let status = status(summary);
    if has_ended(summary) && !has_ended(known) {
        return Some(head.item(ItemKind::Ended, summary));
    }
    (status != self::status(known)).then(|| head.item(ItemKind::Phase, &status))
}

/// Returns the members whose change is an event.
fn status(summary: &Value) -> Value {
    let of = |value: &Value, names: &[&str]| {
        let members = names.iter().map(|&it| (it.to_owned(), value[it].clone()));
        Value::Object(members.collect())
    };
    let mut status = of(summary, &STATUS);
    status["fleet"] = of(&summary["fleet"], &PLACE);
    status
}

fn has_ended(summary: &Value) -> bool {
    summary["state"] != json!("running")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: SessionId, state: &str, phase: &str, reach: &str) -> OtherSession {
        let fleet =
            json!({ "runner": "b", "name": "tower", "state": reach, "generation": 1, "copied": 7 });
        OtherSession {
            id,
            summary: json!({ "id": id, "state": state, "phase": phase, "fleet": fleet }),
        }
    }

    #[tokio::test]
    async fn lists_become_events_of_their_differences() {
        let (a, b) = (SessionId::random(), SessionId::random());
        let (sender, lists) = mpsc::channel(8);
        let mut reader = OtherReader::new(lists, ItemKind::ALL.into());
        let mut next = async |list: Vec<OtherSession>| {
            sender.send(list).await.unwrap();
            let events = reader.next().await;
            let events = events
                .iter()
                .map(|it| serde_json::from_slice::<Value>(it).unwrap());
            events.collect::<Vec<_>>()
        };
        let created = next(vec![session(a, "running", "idle", "live")]).await;
        assert_eq!(created[0]["type"], "created");
        assert_eq!(created[0]["session"], json!(a));
        assert_eq!(created[0]["fleet"]["copied"], 7);
        // How much is copied is no event.
        let mut more = session(a, "running", "idle", "live");
        more.summary["fleet"]["copied"] = 9.into();
        sender.send(vec![more]).await.unwrap();
        let phase = next(vec![session(a, "running", "running", "silent")]).await;
        assert_eq!(phase.len(), 1);
        assert_eq!(phase[0]["type"], "phase");
        assert_eq!(phase[0]["phase"], "running");
        assert_eq!(phase[0]["fleet"]["state"], "silent");
        let both = next(vec![
            session(a, "exited", "ended", "live"),
            session(b, "running", "idle", "live"),
        ])
        .await;
        let mut types: Vec<_> = both.iter().map(|it| it["type"].as_str().unwrap()).collect();
        types.sort_unstable();
        assert_eq!(types, ["created", "ended"]);
        let removed = next(vec![session(b, "running", "idle", "live")]).await;
        assert_eq!(removed, [json!({ "session": a, "type": "removed" })]);
    }
}
