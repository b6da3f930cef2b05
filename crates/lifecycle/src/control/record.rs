//! The JSON of what a line of a control stream says.

use bowline_jsonl::{Decision, Priority, Prompt, PromptPart, Source};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::entry::ControlEntry;
use super::opening::SessionOpening;
use crate::budget::{LimitKind, LimitRequest};
use crate::error::DialogueError;
use crate::intent::Intent;
use crate::permission::PermissionAnswer;
use crate::queue::{QueueChange, QueueEdit};

/// What a line says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub(super) enum EntryRecord {
    Open(SessionOpening),
    Prompt(PromptRecord),
    Answer {
        request_id: String,
        answer: AnswerRecord,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<String>,
    },
    Interrupt {
        cancel_queued: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<u64>,
    },
    SetOption {
        option: String,
        value: String,
    },
    EditQueue {
        prompt: String,
        change: ChangeRecord,
    },
    Release {
        prompt: String,
    },
    Hold {
        request_id: String,
        limit: LimitKind,
        allowed: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<u64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shared: bool,
    },
    StopTask {
        task_id: String,
    },
    Request {
        name: String,
        #[serde(default)]
        params: Map<String, Value>,
    },
    End,
    Outcome {
        of: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<DialogueError>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PromptRecord {
    uuid: String,
    parts: Vec<PartRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<PriorityRecord>,
    #[serde(default)]
    verbatim: bool,
    #[serde(default)]
    append_only: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum PartRecord {
    Text {
        text: String,
    },
    Image {
        source: SourceRecord,
    },
    Document {
        source: SourceRecord,
        title: Option<String>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SourceRecord {
    Base64 { media_type: String, data: String },
    Text(String),
    Url(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PriorityRecord {
    Now,
    Next,
    Later,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerRecord {
    Allow {
        updated_input: Option<String>,
        updated_permissions: Option<String>,
    },
    Deny {
        message: String,
        interrupt: bool,
    },
    Option(String),
    Cancel,
    Answers(Vec<(String, String)>),
    ApprovePlan {
        mode: Option<String>,
    },
    RejectPlan {
        feedback: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChangeRecord {
    Replace(Vec<PartRecord>),
    Before(String),
    After(String),
    Cancel,
}

impl EntryRecord {
    /// Returns the record of an entry; `None` for one that cannot be kept.
    pub(super) fn of(entry: &ControlEntry) -> Option<Self> {
        match entry {
            ControlEntry::Open(opening) => Some(Self::Open(opening.clone())),
            ControlEntry::Intent(intent) => Self::of_intent(intent),
            ControlEntry::Outcome { of, result } => Some(Self::Outcome {
                of: of.clone(),
                response: result.as_ref().ok().and_then(response),
                error: result.as_ref().err().map(DialogueError::recorded),
            }),
            ControlEntry::Other => None,
        }
    }

    fn of_intent(intent: &Intent) -> Option<Self> {
        Some(match intent {
            Intent::Prompt(prompt) => Self::Prompt(PromptRecord::of(prompt)?),
            Intent::Answer {
                request_id,
                answer,
                by,
                how,
            } => Self::Answer {
                request_id: request_id.clone(),
                answer: AnswerRecord::of(answer)?,
                by: by.clone(),
                how: how.clone(),
            },
            Intent::Interrupt {
                cancel_queued,
                seen,
            } => Self::Interrupt {
                cancel_queued: *cancel_queued,
                seen: *seen,
            },
            Intent::SetOption { option, value } => Self::SetOption {
                option: option.clone(),
                value: value.clone(),
            },
            Intent::EditQueue(QueueEdit { uuid, change }) => Self::EditQueue {
                prompt: uuid.clone(),
                change: ChangeRecord::of(change)?,
            },
            Intent::Release { uuid } => Self::Release {
                prompt: uuid.clone(),
            },
            Intent::Hold(request) => Self::Hold {
                request_id: request.request_id.clone(),
                limit: request.limit,
                allowed: request.allowed,
                spent: request.spent,
                shared: request.is_shared,
            },
            Intent::StopTask { task_id } => Self::StopTask {
                task_id: task_id.clone(),
            },
            Intent::Request { name, params } => Self::Request {
                name: name.clone(),
                params: params.clone(),
            },
            Intent::End => Self::End,
        })
    }

    pub(super) fn entry(self) -> ControlEntry {
        ControlEntry::Intent(match self {
            Self::Open(opening) => return ControlEntry::Open(opening),
            Self::Outcome {
                of,
                response,
                error,
            } => {
                let response = response.map(|it| it.to_string());
                let result = error.map_or(Ok(response), Err);
                return ControlEntry::Outcome { of, result };
            }
            Self::Other => return ControlEntry::Other,
            Self::Prompt(prompt) => Intent::Prompt(prompt.prompt()),
            Self::Answer {
                request_id,
                answer,
                by,
                how,
            } => Intent::Answer {
                request_id,
                answer: answer.answer(),
                by,
                how,
            },
            Self::Interrupt {
                cancel_queued,
                seen,
            } => Intent::Interrupt {
                cancel_queued,
                seen,
            },
            Self::SetOption { option, value } => Intent::SetOption { option, value },
            Self::EditQueue { prompt, change } => Intent::EditQueue(QueueEdit {
                uuid: prompt,
                change: change.change(),
            }),
            Self::Release { prompt } => Intent::Release { uuid: prompt },
            Self::Hold {
                request_id,
                limit,
                allowed,
                spent,
                shared,
            } => Intent::Hold(LimitRequest {
                request_id,
                limit,
                allowed,
                spent,
                is_shared: shared,
            }),
            Self::StopTask { task_id } => Intent::StopTask { task_id },
            Self::Request { name, params } => Intent::Request { name, params },
            Self::End => Intent::End,
        })
    }
}

/// A response as part of a line. An empty one says nothing, and what is no JSON is no response.
fn response(response: &Option<String>) -> Option<Value> {
    let response = response.as_deref().filter(|it| *it != "{}")?;
    serde_json::from_str(response).ok()
}

impl PromptRecord {
    fn of(prompt: &Prompt) -> Option<Self> {
        let priority = match prompt.priority {
            None => None,
            Some(Priority::Now) => Some(PriorityRecord::Now),
            Some(Priority::Next) => Some(PriorityRecord::Next),
            Some(Priority::Later) => Some(PriorityRecord::Later),
            Some(_) => return None,
        };
        Some(Self {
            uuid: prompt.uuid.clone()?,
            parts: prompt
                .parts
                .iter()
                .map(PartRecord::of)
                .collect::<Option<_>>()?,
            priority,
            verbatim: prompt.verbatim,
            append_only: prompt.append_only,
        })
    }

    fn prompt(self) -> Prompt {
        Prompt {
            uuid: Some(self.uuid),
            parts: self.parts.into_iter().map(PartRecord::part).collect(),
            priority: self.priority.map(|it| match it {
                PriorityRecord::Now => Priority::Now,
                PriorityRecord::Next => Priority::Next,
                PriorityRecord::Later => Priority::Later,
            }),
            verbatim: self.verbatim,
            append_only: self.append_only,
        }
    }
}

impl ChangeRecord {
    fn of(change: &QueueChange) -> Option<Self> {
        Some(match change {
            QueueChange::Replace(parts) => {
                let parts = parts.iter().map(PartRecord::of);
                Self::Replace(parts.collect::<Option<_>>()?)
            }
            QueueChange::MoveBefore(uuid) => Self::Before(uuid.clone()),
            QueueChange::MoveAfter(uuid) => Self::After(uuid.clone()),
            QueueChange::Cancel => Self::Cancel,
        })
    }

    fn change(self) -> QueueChange {
        match self {
            Self::Replace(parts) => {
                QueueChange::Replace(parts.into_iter().map(PartRecord::part).collect())
            }
            Self::Before(uuid) => QueueChange::MoveBefore(uuid),
            Self::After(uuid) => QueueChange::MoveAfter(uuid),
            Self::Cancel => QueueChange::Cancel,
        }
    }
}

impl PartRecord {
    fn of(part: &PromptPart) -> Option<Self> {
        Some(match part {
            PromptPart::Text(text) => Self::Text { text: text.clone() },
            PromptPart::Image(source) => Self::Image {
                source: SourceRecord::of(source)?,
            },
            PromptPart::Document { source, title } => Self::Document {
                source: SourceRecord::of(source)?,
                title: title.clone(),
            },
            _ => return None,
        })
    }

    fn part(self) -> PromptPart {
        match self {
            Self::Text { text } => PromptPart::Text(text),
            Self::Image { source } => PromptPart::Image(source.source()),
            Self::Document { source, title } => PromptPart::Document {
                source: source.source(),
                title,
            },
        }
    }
}

impl SourceRecord {
    fn of(source: &Source) -> Option<Self> {
        Some(match source {
            Source::Base64 { media_type, data } => Self::Base64 {
                media_type: media_type.clone(),
                data: data.clone(),
            },
            Source::Text(text) => Self::Text(text.clone()),
            Source::Url(url) => Self::Url(url.clone()),
            _ => return None,
        })
    }

    fn source(self) -> Source {
        match self {
            Self::Base64 { media_type, data } => Source::Base64 { media_type, data },
            Self::Text(text) => Source::Text(text),
            Self::Url(url) => Source::Url(url),
        }
    }
}

impl AnswerRecord {
    fn of(answer: &PermissionAnswer) -> Option<Self> {
        Some(match answer.clone() {
            PermissionAnswer::Decide(Decision::Allow {
                updated_input,
                updated_permissions,
            }) => Self::Allow {
                updated_input,
                updated_permissions,
            },
            PermissionAnswer::Decide(Decision::Deny { message, interrupt }) => {
                Self::Deny { message, interrupt }
            }
            PermissionAnswer::Option(id) => Self::Option(id),
            PermissionAnswer::Cancel => Self::Cancel,
            PermissionAnswer::Answers(answers) => Self::Answers(answers),
            PermissionAnswer::ApprovePlan { mode } => Self::ApprovePlan { mode },
            PermissionAnswer::RejectPlan { feedback } => Self::RejectPlan { feedback },
        })
    }

    fn answer(self) -> PermissionAnswer {
        match self {
            Self::Allow {
                updated_input,
                updated_permissions,
            } => PermissionAnswer::Decide(Decision::Allow {
                updated_input,
                updated_permissions,
            }),
            Self::Deny { message, interrupt } => {
                PermissionAnswer::Decide(Decision::Deny { message, interrupt })
            }
            Self::Option(id) => PermissionAnswer::Option(id),
            Self::Cancel => PermissionAnswer::Cancel,
            Self::Answers(answers) => PermissionAnswer::Answers(answers),
            Self::ApprovePlan { mode } => PermissionAnswer::ApprovePlan { mode },
            Self::RejectPlan { feedback } => PermissionAnswer::RejectPlan { feedback },
        }
    }
}
