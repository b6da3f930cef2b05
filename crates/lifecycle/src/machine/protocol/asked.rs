//! Requests of an agent that speaks JSON-RPC, until they are answered.

use std::collections::{BTreeMap, HashMap};

use bowline_jsonl::rpc::{Id, RpcError};
use bowline_jsonl::{Decision, RawJson, Str};
use bowline_reducer::model::{AnswerKind, RequestOption};
use bowline_reducer::{PermissionState, Transcript};

use super::{Link, Signal};
use crate::error::DialogueError;
use crate::machine::requests::Refusal;
use crate::permission::{EncodedAnswer, PermissionAnswer, PermissionRecord, RequestState};

/// What a protocol keeps of a request of the agent in order to answer it.
pub(super) trait RequestDetail {
    /// Encodes an answer as a line.
    fn encode(&self, id: Id<'_>, choice: Choice<'_>, record: &PermissionRecord) -> Vec<u8>;
}

/// The open requests of the agent.
#[derive(Debug)]
pub(super) struct Asked<T> {
    /// By their name in the transcript.
    requests: BTreeMap<String, AskedRequest<T>>,
    /// Their names, by the id as JSON text.
    names: HashMap<String, String>,
}

/// An open request: its id as JSON text, and what the protocol needs for an answer.
#[derive(Clone, Debug)]
pub(super) struct AskedRequest<T> {
    id: String,
    detail: T,
}

impl<T> Default for Asked<T> {
    fn default() -> Self {
        Self {
            requests: BTreeMap::new(),
            names: HashMap::new(),
        }
    }
}

impl<T> AskedRequest<T> {
    /// Encodes the answer.
    pub(super) fn encode(&self, encode: impl FnOnce(Id<'_>, &T) -> Vec<u8>) -> Vec<u8> {
        let id = RawJson::parse(&self.id).and_then(Id::new);
        // The text is that of an id.
        id.map_or_else(Vec::new, |id| encode(id, &self.detail))
    }
}

impl<T: RequestDetail> Asked<T> {
    /// Adds a request that the transcript has taken in. It is reported to the host, or answered at once
    /// with `instead`.
    pub(super) fn ask(
        &mut self,
        id: Id<'_>,
        detail: T,
        instead: Option<PermissionAnswer>,
        link: &mut Link<'_>,
    ) {
        let Some(name) = name_of(id, link.transcript) else {
            return;
        };
        let Some(request) = link.transcript.permission(&name) else {
            return;
        };
        let record = PermissionRecord::of_request(&request, link.at_ms);
        let request_id = id.text().to_owned();
        let id = request_id.clone();
        self.names.insert(id.clone(), name.clone());
        self.requests.insert(name, AskedRequest { id, detail });
        let Some(answer) = instead else {
            return link.signal(Signal::PermissionAsked(Box::new(record)));
        };
        if let Ok(encoded) = self.answer(&record, &answer) {
            let line = encoded.line;
            link.signal(Signal::ReplyToAgent { request_id, line });
        }
    }

    /// Encodes the answer to a request, which is then no longer open.
    ///
    /// # Errors
    ///
    /// The answer does not fit the request, or the request is not open.
    pub(super) fn answer(
        &mut self,
        record: &PermissionRecord,
        answer: &PermissionAnswer,
    ) -> Result<EncodedAnswer, DialogueError> {
        let choice = choose(record, answer)?;
        let Some(asked) = self.requests.remove(&record.request_id) else {
            let request_id = record.request_id.clone();
            return Err(DialogueError::NoSuchRequest { request_id });
        };
        self.names.remove(&asked.id);
        Ok(EncodedAnswer {
            line: asked.encode(|id, detail| detail.encode(id, choice, record)),
            decision: choice.decision(),
        })
    }

    /// Removes the request with this id of the agent, which has withdrawn it.
    pub(super) fn withdraw(&mut self, id: Id<'_>, link: &mut Link<'_>) {
        if let Some(id) = self.remove(id) {
            let state = RequestState::Withdrawn;
            link.signal(Signal::PermissionClosed { id, state });
        }
    }

    /// Closes a request that this or another host answered, unless this host has closed it already.
    pub(super) fn answered(&mut self, id: Id<'_>, link: &mut Link<'_>) {
        let request_id = id.text().to_owned();
        link.signal(Signal::AgentAnswered { request_id });
        if let Some(id) = self.remove(id) {
            let answer = link.transcript.permission(&id).map(|it| it.state());
            let state = match answer {
                Some(PermissionState::Expired) => RequestState::Expired,
                _ => RequestState::Answered,
            };
            link.signal(Signal::PermissionClosed { id, state });
        }
    }

    /// Removes the request with this id of the agent, and returns its name.
    fn remove(&mut self, id: Id<'_>) -> Option<String> {
        let name = self.names.remove(id.text())?;
        self.requests.remove(&name)?;
        Some(name)
    }

    /// Removes all requests.
    pub(super) fn take(&mut self) -> BTreeMap<String, AskedRequest<T>> {
        self.names.clear();
        std::mem::take(&mut self.requests)
    }
}

/// The name of an open request in the transcript, which qualifies ids of a later process.
fn name_of(id: Id<'_>, transcript: &Transcript) -> Option<String> {
    let id = id.as_str().map_or_else(|| id.text().into(), Str::decode);
    let is_it =
        |name: &str| name == id || name.strip_suffix(&*id).is_some_and(|it| it.ends_with(':'));
    let newest_first = transcript.permissions().rev();
    let open = newest_first.filter(|it| it.state() == PermissionState::Open);
    let mut names = open.map(|it| it.request_id());
    names.find(|name| is_it(name)).map(str::to_owned)
}

/// Id of the option of Codex that rejects and ends the turn.
const STOP: &str = "cancel";

/// What an answer chooses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice<'a> {
    Option(&'a RequestOption),
    /// Pairs of a question and its answer.
    Answers(&'a [(String, String)]),
    /// Consent to a request without options.
    Accept,
    /// A rejection of a request without options.
    Reject,
    /// None of these.
    Cancel,
}

impl Choice<'_> {
    /// Returns the answer as a decision.
    pub(super) fn decision(self) -> Decision {
        let is_allowed = match self {
            Self::Option(option) => is_allowing(option.kind),
            Self::Answers(_) | Self::Accept => true,
            Self::Reject | Self::Cancel => false,
        };
        if is_allowed {
            Decision::allow()
        } else {
            Decision::deny("")
        }
    }
}

const fn is_allowing(kind: AnswerKind) -> bool {
    matches!(kind, AnswerKind::AllowOnce | AnswerKind::AllowAlways)
}

/// Returns what an answer chooses of a request's options.
fn choose<'a>(
    record: &'a PermissionRecord,
    answer: &'a PermissionAnswer,
) -> Result<Choice<'a>, DialogueError> {
    let wrong = |why| {
        Err(DialogueError::WrongAnswer {
            request_id: record.request_id.clone(),
            why,
        })
    };
    let of_kind = |kinds: &[AnswerKind]| {
        let find = |kind: &AnswerKind| record.options.iter().find(|it| it.kind == *kind);
        kinds.iter().find_map(find)
    };
    match answer {
        PermissionAnswer::Option(id) => match record.options.iter().find(|it| it.id == *id) {
            Some(option) => Ok(Choice::Option(option)),
            None => wrong("has no such option"),
        },
        PermissionAnswer::Cancel => Ok(Choice::Cancel),
        PermissionAnswer::Answers(answers) if record.has_questions() => {
            Ok(Choice::Answers(answers))
        }
        PermissionAnswer::Answers(_) => wrong("asks no questions"),
        PermissionAnswer::ApprovePlan { .. } | PermissionAnswer::RejectPlan { .. } => {
            wrong("is not a plan")
        }
        PermissionAnswer::Decide(Decision::Allow {
            updated_input: Some(_),
            ..
        }) => wrong("cannot be allowed with another input"),
        PermissionAnswer::Decide(Decision::Allow {
            updated_permissions,
            ..
        }) => {
            let lasting = [AnswerKind::AllowAlways, AnswerKind::AllowOnce];
            let once = [AnswerKind::AllowOnce, AnswerKind::AllowAlways];
            let kinds = if updated_permissions.is_some() {
                lasting
            } else {
                once
            };
            match of_kind(&kinds) {
                Some(option) => Ok(Choice::Option(option)),
                None if record.options.is_empty() && !record.has_questions() => Ok(Choice::Accept),
                None => wrong("cannot be allowed without an answer"),
            }
        }
        PermissionAnswer::Decide(Decision::Deny { interrupt, .. }) => {
            let kinds = [AnswerKind::RejectOnce, AnswerKind::RejectAlways];
            // Codex' option that ends the turn as well; Gemini CLI's only rejection has the same id.
            let rejects = |it: &&RequestOption| kinds.contains(&it.kind);
            let mut options = record.options.iter().filter(rejects);
            let wanted = options.find(|it| (it.id == STOP) == *interrupt);
            let option = wanted.or_else(|| of_kind(&kinds));
            Ok(option.map_or(Choice::Reject, Choice::Option))
        }
    }
}

/// Returns the outcome of a request of the host.
pub(super) fn outcome(result: Result<RawJson<'_>, RpcError<'_>>) -> Result<String, Refusal> {
    result
        .map(|result| result.text().to_owned())
        .map_err(|error| {
            let message = error.message.map(|it| it.decode().into_owned());
            let details = error.data.and_then(|it| it.get("details"));
            let details = details.and_then(|it| it.as_str()).map(Str::decode);
            let reason = match (message, details) {
                (Some(message), Some(details)) => format!("{message}: {details}"),
                (Some(reason), None) => reason,
                (None, details) => details.unwrap_or_default().into_owned(),
            };
            Refusal {
                // It becomes a part of a sentence.
                reason: reason.trim_end_matches('.').to_owned(),
                code: error.code.map(|code| code.to_string()),
            }
        })
}
