//! The lines of a control stream: what a session began with, and what its hosts wanted, each with an id.

use std::path::PathBuf;

use bowline_lifecycle::{
    Conversation, Decision as Verdict, DialectName, DialogueConfiguration, Intent,
    PermissionAnswer, Priority, Prompt, PromptPart, Source,
};
use serde::{Deserialize, Serialize};

/// A line of a control stream.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) id: String,
    #[serde(flatten)]
    pub(super) decision: Decision,
}

/// What a line says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub(super) enum Decision {
    Open(Opening),
    Prompt(PromptRecord),
    Answer {
        request_id: String,
        answer: AnswerRecord,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    Interrupt {
        cancel_queued: bool,
    },
    SetOption {
        option: String,
        value: String,
    },
    End,
}

/// What a session began with, as far as its driver needs it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Opening {
    pub(super) program: String,
    pub(super) dialect: String,
    /// Absolute.
    pub(super) cwd: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<String>,
    /// The conversation that is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resume: Option<String>,
    /// Whether it is resumed as a copy.
    #[serde(default)]
    pub(super) fork: bool,
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
enum PartRecord {
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
enum SourceRecord {
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

impl Line {
    /// Returns the line, without its end.
    pub(super) fn encode(&self) -> String {
        // Maps with keys of other types than strings, which these lines do not have, cannot be encoded.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Opening {
    /// Returns the configuration with which a session is driven.
    pub(super) fn configuration(&self) -> DialogueConfiguration {
        let mut configuration = DialogueConfiguration::default();
        let dialect: Option<DialectName> = self.dialect.parse().ok();
        configuration.set_agent(&self.program, dialect);
        configuration.cwd = Some(self.cwd.clone());
        configuration.model.clone_from(&self.model);
        configuration.permission_mode.clone_from(&self.mode);
        if let Some(id) = self.resume.clone() {
            let fork = self.fork;
            configuration.conversation = Conversation::Resume { id, fork };
        }
        configuration
    }
}

impl Decision {
    /// Returns the decision that stands for an intent; `None` for one that cannot be kept.
    pub(super) fn of(intent: &Intent) -> Option<Self> {
        Some(match intent {
            Intent::Prompt(prompt) => Self::Prompt(PromptRecord::of(prompt)?),
            Intent::Answer {
                request_id,
                answer,
                by,
            } => Self::Answer {
                request_id: request_id.clone(),
                answer: AnswerRecord::of(answer)?,
                by: by.clone(),
            },
            Intent::Interrupt { cancel_queued } => Self::Interrupt {
                cancel_queued: *cancel_queued,
            },
            Intent::SetOption { option, value } => Self::SetOption {
                option: option.clone(),
                value: value.clone(),
            },
            Intent::End => Self::End,
            _ => return None,
        })
    }

    /// Returns the intent; `None` for what the session began with.
    pub(super) fn intent(self) -> Option<Intent> {
        Some(match self {
            Self::Open(_) => return None,
            Self::Prompt(prompt) => Intent::Prompt(prompt.prompt()),
            Self::Answer {
                request_id,
                answer,
                by,
            } => Intent::Answer {
                request_id,
                answer: answer.answer(),
                by,
            },
            Self::Interrupt { cancel_queued } => Intent::Interrupt { cancel_queued },
            Self::SetOption { option, value } => Intent::SetOption { option, value },
            Self::End => Intent::End,
        })
    }
}

impl PromptRecord {
    pub(super) fn of(prompt: &Prompt) -> Option<Self> {
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

    pub(super) fn uuid(&self) -> &str {
        &self.uuid
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
            PermissionAnswer::Decide(Verdict::Allow {
                updated_input,
                updated_permissions,
            }) => Self::Allow {
                updated_input,
                updated_permissions,
            },
            PermissionAnswer::Decide(Verdict::Deny { message, interrupt }) => {
                Self::Deny { message, interrupt }
            }
            PermissionAnswer::Option(id) => Self::Option(id),
            PermissionAnswer::Cancel => Self::Cancel,
            PermissionAnswer::Answers(answers) => Self::Answers(answers),
            PermissionAnswer::ApprovePlan { mode } => Self::ApprovePlan { mode },
            PermissionAnswer::RejectPlan { feedback } => Self::RejectPlan { feedback },
            _ => return None,
        })
    }

    fn answer(self) -> PermissionAnswer {
        match self {
            Self::Allow {
                updated_input,
                updated_permissions,
            } => PermissionAnswer::Decide(Verdict::Allow {
                updated_input,
                updated_permissions,
            }),
            Self::Deny { message, interrupt } => {
                PermissionAnswer::Decide(Verdict::Deny { message, interrupt })
            }
            Self::Option(id) => PermissionAnswer::Option(id),
            Self::Cancel => PermissionAnswer::Cancel,
            Self::Answers(answers) => PermissionAnswer::Answers(answers),
            Self::ApprovePlan { mode } => PermissionAnswer::ApprovePlan { mode },
            Self::RejectPlan { feedback } => PermissionAnswer::RejectPlan { feedback },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        };
        let intents = [
            Intent::Prompt(prompt),
            answer(Verdict::allow().into()),
            answer(Verdict::deny("no").into()),
            answer(PermissionAnswer::Option("o".to_owned())),
            answer(PermissionAnswer::Cancel),
            answer(PermissionAnswer::Answers(vec![("q".into(), "a".into())])),
            answer(PermissionAnswer::ApprovePlan { mode: None }),
            answer(PermissionAnswer::RejectPlan {
                feedback: "f".to_owned(),
            }),
            Intent::Interrupt {
                cancel_queued: true,
            },
            Intent::SetOption {
                option: "model".to_owned(),
                value: "m".to_owned(),
            },
            Intent::End,
        ];
        for intent in intents {
            let line = Line {
                id: "i".to_owned(),
                decision: Decision::of(&intent).unwrap(),
            };
            let text = line.encode();
            assert!(!text.contains('\n'));
            let read: Line = serde_json::from_str(&text).unwrap();
            assert_eq!(read.decision.intent(), Some(intent), "{text}");
        }
    }
}
