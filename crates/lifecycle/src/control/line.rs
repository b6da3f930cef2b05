//! A line of a control stream.

use serde::{Deserialize, Serialize};

use super::entry::ControlEntry;
use super::record::EntryRecord;

/// A line of a control stream.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlLine {
    /// Its id, of 1 to 128 bytes. A session takes each id once.
    pub id: String,
    /// The name of the client whose line it is, if it gave one.
    pub client: Option<String>,
    /// What it says.
    pub entry: ControlEntry,
}

#[derive(Serialize, Deserialize)]
struct LineRecord {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(flatten)]
    entry: EntryRecord,
}

impl ControlLine {
    /// Returns the line, without its end. `None` for an intent that cannot be kept, and for a line of a newer
    /// version.
    #[must_use]
    pub fn encode(&self) -> Option<String> {
        let entry = EntryRecord::of(&self.entry)?;
        let record = LineRecord {
            id: self.id.clone(),
            client: self.client.clone(),
            entry,
        };
        // Maps with keys of other types than strings, which these lines do not have, cannot be encoded.
        serde_json::to_string(&record).ok()
    }

    /// Parses a line.
    pub(super) fn parse(line: &[u8]) -> Result<Self, serde_json::Error> {
        let record: LineRecord = serde_json::from_slice(line)?;
        Ok(Self {
            id: record.id,
            client: record.client,
            entry: record.entry.entry(),
        })
    }
}

#[cfg(test)]
mod tests {
    use bowline_jsonl::{Decision, Priority, Prompt, PromptPart, Source};

    use super::*;
    use crate::budget::{LimitKind, LimitRequest};
    use crate::error::DialogueError;
    use crate::intent::Intent;
    use crate::permission::PermissionAnswer;
    use crate::queue::{QueueChange, QueueEdit};

    fn round_trips(entry: ControlEntry) {
        let line = ControlLine {
            id: "i".to_owned(),
            client: Some("page".to_owned()),
            entry,
        };
        let text = line.encode().unwrap();
        assert!(!text.contains('\n'));
        assert_eq!(ControlLine::parse(text.as_bytes()).unwrap(), line, "{text}");
    }

    #[test]
    fn intents_round_trip() {
        let prompt = Prompt {
            uuid: Some("u".to_owned()),
            parts: vec![
                PromptPart::Text("a\nb".to_owned()),
                PromptPart::Image(Source::Base64 {
                    media_type: "image/png".to_owned(),
                    data: "AA==".to_owned(),
                }),
                PromptPart::Document {
                    source: Source::Text("t".to_owned()),
                    title: None,
                },
            ],
            priority: Some(Priority::Next),
            verbatim: true,
            append_only: false,
        };
        let answer = |answer: PermissionAnswer| Intent::Answer {
            request_id: "r".to_owned(),
            answer,
            by: Some("page".to_owned()),
            how: Some("rule 1 in p".to_owned()),
        };
        let edit = |change| {
            let uuid = "u".to_owned();
            Intent::EditQueue(QueueEdit { uuid, change })
        };
        let intents = [
            Intent::Prompt(prompt),
            answer(Decision::allow().into()),
            answer(Decision::deny("no").into()),
            answer(PermissionAnswer::Option("o".to_owned())),
            answer(PermissionAnswer::Cancel),
            answer(PermissionAnswer::Answers(vec![("q".into(), "a".into())])),
            answer(PermissionAnswer::ApprovePlan { mode: None }),
            answer(PermissionAnswer::RejectPlan {
                feedback: "f".to_owned(),
            }),
            Intent::Interrupt {
                cancel_queued: true,
                seen: Some(7),
            },
            Intent::SetOption {
                option: "model".to_owned(),
                value: "m".to_owned(),
            },
            edit(QueueChange::Replace(vec![PromptPart::Text(
                "new".to_owned(),
            )])),
            edit(QueueChange::MoveBefore("other".to_owned())),
            edit(QueueChange::MoveAfter("other".to_owned())),
            edit(QueueChange::Cancel),
            Intent::Release {
                uuid: "u".to_owned(),
            },
            Intent::Hold(LimitRequest {
                request_id: "budget:1".to_owned(),
                limit: LimitKind::Cost,
                allowed: 5_000_000,
                spent: Some(5_120_000),
                is_shared: true,
            }),
            Intent::StopTask {
                task_id: "t".to_owned(),
            },
            Intent::Request {
                name: "mcp_status".to_owned(),
                params: [("a".to_owned(), serde_json::json!({"b": [1]}))]
                    .into_iter()
                    .collect(),
            },
            Intent::End,
        ];
        for intent in intents {
            round_trips(ControlEntry::Intent(intent));
        }
    }

    #[test]
    fn outcomes_round_trip() {
        let text = || "x".to_owned();
        let errors = [
            DialogueError::Ended,
            DialogueError::EmptyPrompt,
            DialogueError::DuplicateUuid { uuid: text() },
            DialogueError::NotQueued {
                uuid: text(),
                is_sent: true,
            },
            DialogueError::NoSuchRequest { request_id: text() },
            DialogueError::TooLate {
                request_id: text(),
                state: "already answered".to_owned(),
                by: Some(text()),
            },
            DialogueError::Refused {
                request: text(),
                reason: text(),
                code: Some(text()),
            },
            DialogueError::NoAnswer {
                request: text(),
                seconds: 7,
            },
            DialogueError::Rejected { reason: text() },
        ];
        let response = Some(r#"{"still_queued":["u"]}"#.to_owned());
        let results = errors.into_iter().map(Err).chain([Ok(None), Ok(response)]);
        for result in results {
            let of = "i".to_owned();
            round_trips(ControlEntry::Outcome { of, result });
        }
    }

    #[test]
    fn other_errors_keep_their_text() {
        let error = DialogueError::WrongAnswer {
            request_id: "r".to_owned(),
            why: "has no such option",
        };
        let line = ControlLine {
            id: "i".to_owned(),
            client: None,
            entry: ControlEntry::Outcome {
                of: "o".to_owned(),
                result: Err(error.clone()),
            },
        };
        let read = ControlLine::parse(line.encode().unwrap().as_bytes()).unwrap();
        let reason = error.to_string();
        let result = Err(DialogueError::Rejected { reason });
        let of = "o".to_owned();
        assert_eq!(read.entry, ControlEntry::Outcome { of, result });
    }

    #[test]
    fn line_of_newer_version_is_no_damage() {
        let read = ControlLine::parse(br#"{"id":"i","decision":"fold_paper","prompt":1}"#);
        assert_eq!(read.unwrap().entry, ControlEntry::Other);
        assert!(ControlLine::parse(br#"{"id":"i","decision":"prompt","uuid":1}"#).is_err());
    }
}
