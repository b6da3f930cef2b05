//! What of a session needs a person, derived from its transcript; pure.

use std::fmt;

use bowline_reducer::model::{Limit, RequestKind};
use bowline_reducer::{Entry, EntryKind, ErrorKind, Outcome, Phase, Transcript};
use serde::Serialize;

use crate::budget::USAGE_TOOL;

/// Maximum length of a text, in bytes.
const MAX_TEXT: usize = 1024;

/// What of a session needs a person.
///
/// It is derived from the transcript alone, so that every reader finds the same one, with the same id, also after a
/// restart.
///
/// ```
/// use bowline_lifecycle::reducer::Transcript;
/// use bowline_lifecycle::{Attention, AttentionReason};
///
/// let transcript = Transcript::new();
/// let notice = match Attention::of(&transcript).map(|it| it.reason) {
///     Some(AttentionReason::Question { tool_name, .. }) => format!("may {tool_name} run?"),
///     Some(AttentionReason::Failure { text }) => text,
///     Some(AttentionReason::LimitReached { window, .. }) => format!("limit reached: {window}"),
///     Some(AttentionReason::Finished { .. }) => "finished".to_owned(),
///     _ => "nothing to do".to_owned(),
/// };
/// assert_eq!(notice, "nothing to do");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Attention {
    /// Its id within the session. The same cause has the same id.
    pub id: String,
    /// Why.
    #[serde(flatten)]
    pub reason: AttentionReason,
}

/// Why a session needs a person. As JSON, an object with the name of the variant under `reason`.
/// `Debug` leaves out what the conversation says.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AttentionReason {
    /// The agent waits for the answer to a request.
    Question {
        /// Id of the oldest request that waits.
        request_id: String,
        /// What it asks for.
        kind: RequestKind,
        /// The tool that needs permission.
        tool_name: String,
    },
    /// The last turn failed, or the session ended unexpectedly.
    Failure {
        /// The error, shortened to 1 KiB.
        text: String,
    },
    /// The last turn is completed, and the agent waits for a prompt.
    Finished {
        /// The final text, shortened to 1 KiB.
        text: Option<String>,
    },
    /// The last turn failed because a usage limit is reached.
    LimitReached {
        /// Name of the limit's window.
        window: String,
        /// When the window begins again, in milliseconds since the Unix epoch.
        resets_at_ms: Option<u64>,
    },
}

impl fmt::Debug for AttentionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Question { .. } => "Question",
            Self::Failure { .. } => "Failure",
            Self::Finished { .. } => "Finished",
            Self::LimitReached { .. } => "LimitReached",
        })
    }
}

impl Attention {
    /// Returns what of a session needs a person at present; `None` while the agent works, and after an interrupt.
    #[must_use]
    pub fn of(transcript: &Transcript) -> Option<Self> {
        if let Some(request) = transcript.pending_permissions().next() {
            // The session waits by itself, and says for what.
            if request.tool_name() == USAGE_TOOL
                && let Some(limit) = last_turn(transcript)
            {
                return Some(limit);
            }
            let request_id = request.request_id().to_owned();
            return Some(Self {
                id: format!("question:{request_id}"),
                reason: AttentionReason::Question {
                    kind: request.asked().kind,
                    tool_name: request.tool_name().to_owned(),
                    request_id,
                },
            });
        }
        let phase = transcript.status().phase;
        if phase == Phase::Ended
            && let Some(failure) = failed_end(transcript)
        {
            return Some(failure);
        }
        matches!(phase, Phase::Idle | Phase::Ended).then(|| last_turn(transcript))?
    }
}

/// Returns the error with which a session ended.
fn failed_end(transcript: &Transcript) -> Option<Attention> {
    let last = transcript.entries().next_back()?;
    match last.kind() {
        EntryKind::Error {
            error:
                ErrorKind::UnexpectedExit
                | ErrorKind::ReconnectFailed
                | ErrorKind::SessionTimeout
                | ErrorKind::AnswerUndelivered,
            text,
        } => Some(Attention {
            id: "end".to_owned(),
            reason: AttentionReason::Failure {
                text: shortened(&text.to_cow()),
            },
        }),
        _ => None,
    }
}

fn last_turn(transcript: &Transcript) -> Option<Attention> {
    let is_result = |it: &Entry<'_>| matches!(it.kind(), EntryKind::Result { .. });
    let result = transcript.entries().rev().find(is_result)?;
    let EntryKind::Result { outcome, text, .. } = result.kind() else {
        return None;
    };
    if result.is_history() {
        return None;
    }
    let text = text.map(|it| shortened(&it.to_cow()));
    let reason = match outcome {
        Outcome::Completed => AttentionReason::Finished { text },
        Outcome::Failed => match reached_limit(transcript) {
            Some(limit) => AttentionReason::LimitReached {
                window: limit.window.clone(),
                resets_at_ms: limit.resets_at_ms,
            },
            None => AttentionReason::Failure {
                text: text.unwrap_or_else(|| "the turn failed".to_owned()),
            },
        },
        _ => return None,
    };
    // The offset of its line is the same in every fold of the log.
    let id = format!("turn:{}", result.offset());
    Some(Attention { id, reason })
}

/// Returns the usage limit that the last turn met, if it failed because of one.
pub(crate) fn limit_of_last_turn(transcript: &Transcript) -> Option<&Limit> {
    let is_result = |it: &Entry<'_>| matches!(it.kind(), EntryKind::Result { .. });
    let last = transcript.entries().rev().find(is_result)?;
    let has_failed = matches!(
        last.kind(),
        EntryKind::Result {
            outcome: Outcome::Failed,
            ..
        }
    );
    (has_failed && !last.is_history()).then(|| reached_limit(transcript))?
}

/// Returns the limit because of which the last turn failed: one that the agent has named in that turn, or one that
/// is used up.
fn reached_limit(transcript: &Transcript) -> Option<&Limit> {
    let limits = transcript.session().limits();
    let in_turn = transcript.entries().rev().skip_while(
        // What comes after the result is of no turn.
        |it| !matches!(it.kind(), EntryKind::Result { .. }),
    );
    let in_turn = in_turn
        .skip(1)
        .take_while(|it| !matches!(it.kind(), EntryKind::Result { .. }));
    for entry in in_turn {
        if let EntryKind::Notice {
            notice: "rate_limit_event",
            text,
        } = entry.kind()
        {
            let text = text.to_cow();
            let mut named = limits.iter().filter(|it| text.ends_with(&*it.window));
            return named.next().or_else(|| limits.last());
        }
    }
    let is_used_up = |it: &&Limit| it.used_share.is_some_and(|share| share >= 1.0);
    limits.iter().find(is_used_up)
}

fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use bowline_jsonl::Framer;
    use bowline_reducer::{End, HostDecision, HostEvent, Meta};

    use super::*;

    const AT: Meta = Meta { at_ms: 0 };
    const ASK: &str = r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t","input":{}}}"#;
    const LIMIT: &str = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour","resetsAt":1700000000},"uuid":"l","session_id":"s"}"#;

    fn result(uuid: &str, is_error: bool, text: &str) -> String {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":{is_error},"result":"{text}","uuid":"{uuid}","session_id":"s"}}"#
        )
    }

    fn fold(transcript: &mut Transcript, lines: &[&str]) {
        let mut framer = Framer::default();
        // Lines continue at the end of what was folded.
        framer.skip_to(transcript.applied());
        lines
            .iter()
            .for_each(|line| framer.push(format!("{line}\n").into()));
        while let Some(frame) = framer.next_frame() {
            frame.items().for_each(|item| transcript.apply(&item, AT));
        }
    }

    fn reason(transcript: &Transcript) -> Option<AttentionReason> {
        Attention::of(transcript).map(|it| it.reason)
    }

    #[test]
    fn request_that_waits_is_a_question() {
        let mut transcript = Transcript::new();
        fold(&mut transcript, &[ASK]);
        let asked = Attention::of(&transcript).unwrap();
        assert_eq!(asked.id, "question:r");
        let json = serde_json::to_value(&asked).unwrap();
        assert_eq!(
            (&json["reason"], &json["tool_name"]),
            (&"question".into(), &"Bash".into())
        );
        let decision = HostDecision::Allow {
            updated_input: None,
        };
        let answered = HostEvent::PermissionAnswered {
            request_id: "r",
            decision,
        };
        transcript.apply_host(answered, AT);
        assert_eq!(Attention::of(&transcript), None);
    }

    #[test]
    fn turn_is_finished_or_failed_once() {
        let mut transcript = Transcript::new();
        fold(&mut transcript, &[&result("1", false, "done")]);
        let first = Attention::of(&transcript).unwrap();
        let text = Some("done".to_owned());
        assert_eq!(first.reason, AttentionReason::Finished { text });
        fold(&mut transcript, &[&result("2", true, "no money")]);
        let second = Attention::of(&transcript).unwrap();
        assert_ne!(first.id, second.id);
        let text = "no money".to_owned();
        assert_eq!(second.reason, AttentionReason::Failure { text });
    }

    #[test]
    fn failed_turn_names_the_limit_that_it_met() {
        let mut transcript = Transcript::new();
        fold(&mut transcript, &[LIMIT, &result("1", true, "limit")]);
        let limit = AttentionReason::LimitReached {
            window: "five_hour".to_owned(),
            resets_at_ms: Some(1_700_000_000_000),
        };
        assert_eq!(reason(&transcript), Some(limit));
        // The next failure has another cause.
        fold(&mut transcript, &[&result("2", true, "refused")]);
        let text = "refused".to_owned();
        assert_eq!(reason(&transcript), Some(AttentionReason::Failure { text }));
    }

    #[test]
    fn unexpected_end_is_a_failure() {
        let mut transcript = Transcript::new();
        fold(&mut transcript, &[&result("1", false, "done"), ASK]);
        let end = End::Process {
            exit: "signal 9",
            expected: false,
        };
        transcript.end(end, AT);
        let end = Attention::of(&transcript).unwrap();
        assert_eq!(end.id, "end", "{end:?}");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let long = "\u{e9}".repeat(MAX_TEXT);
        assert_eq!(shortened(&long).len(), MAX_TEXT);
        assert_eq!(shortened(&format!("a{long}")).len(), MAX_TEXT - 1);
    }
}
