//! Claude Code's stream-json (`crates/jsonl/PROTOCOL.md`).

use bowline_jsonl::{
    AgentVersion, Body, CommandLifecycle, ControlAnswer, ControlRequest, Decision, Event,
    HostRequest, Prompt, RawJson, RequestBody, Str, SystemBody, TurnResult, control_error,
    control_request, hook_output, permission,
};
use bowline_reducer::Transcript;

use super::{Link, Protocol, Signal};
use crate::agent::{Capabilities, Capability};
use crate::error::DialogueError;
use crate::machine::input::{LinePurpose, Ticket};
use crate::machine::receipts::{ReceiptState, TurnPrompts};
use crate::machine::requests::{CompletedRequest, Refusal};
use crate::permission::{EncodedAnswer, PermissionAnswer, PermissionRecord, RequestState};

/// A control request without side effects. An agent that does not know it answers with an error, which
/// is a sign of life as well.
const LIVENESS_PROBE: &str = "get_binary_version";

/// Subtype of the first request of a session.
const INITIALIZE: &str = "initialize";

/// The protocol.
#[derive(Debug)]
pub(in crate::machine) struct Claude;

impl Protocol for Claude {
    fn folds_input(&self) -> bool {
        false
    }

    fn begin(&mut self, link: &mut Link<'_>) {
        // An agent ignores fields that it does not know, while an unknown option of the command line
        // would end it.
        let fields = [("forwardSubagentText".to_owned(), true.into())];
        let request = HostRequest::Initialize(fields.into_iter().collect());
        write_request(&request, None, link);
    }

    fn replayed(&mut self, _link: &mut Link<'_>) {}

    fn line(&mut self, event: &Event<'_>, link: &mut Link<'_>) {
        match &event.body {
            Body::CommandLifecycle(line) => link.signal(prompt_reported(line)),
            Body::System(line) => {
                if let SystemBody::Init(init) = &line.body {
                    link.signal(Signal::TurnBegan);
                    let version = init.claude_code_version.map(Str::decode);
                    let version = version.and_then(|it| AgentVersion::parse(&it));
                    link.signal(Signal::Version(version));
                }
            }
            Body::User(line) if line.is_replay => {
                if let Some(uuid) = event.uuid {
                    link.signal(Signal::PromptEchoed(uuid.decode().into_owned()));
                }
            }
            Body::Result(line) => link.signal(Signal::TurnEnded(turn_prompts(line))),
            Body::ControlRequest(line) => agent_request(line, link),
            Body::ControlCancelRequest {
                request_id: Some(id),
            } => link.signal(Signal::PermissionClosed {
                id: id.decode().into_owned(),
                state: RequestState::Withdrawn,
            }),
            Body::ControlResponse(line) => {
                if let Some(id) = line.response.request_id {
                    link.signal(Signal::Response {
                        id: id.decode().into_owned(),
                        outcome: outcome(&line.response),
                    });
                }
            }
            _ => {}
        }
    }

    /// The agent repeats what hosts write. A host of a driven session sees it here first.
    fn host_line(&mut self, line: RawJson<'_>, link: &mut Link<'_>) {
        let kind = line.get("type").and_then(RawJson::as_str);
        let seen = match kind.map(Str::decode).as_deref() {
            Some("user") => prompt_seen(line),
            Some("control_response") => answer_seen(line),
            _ => None,
        };
        if let Some(Signal::PromptSeen { uuid, .. }) = &seen {
            let uuid = uuid.clone();
            let state = ReceiptState::Written;
            link.signal(Signal::PromptAdvanced { uuid, state });
        }
        if let Some(seen) = seen {
            link.signal(seen);
        }
    }

    fn completed(&mut self, request: &CompletedRequest, link: &mut Link<'_>) {
        // The agent seems not to read its input. It may just be slow, so it is not terminated.
        if let Err(DialogueError::NoAnswer { seconds, .. }) = request.reply
            && request.ticket.is_none()
            && request.name == INITIALIZE
        {
            let reason = format!("the agent did not answer `{INITIALIZE}` within {seconds} s");
            link.signal(Signal::Silent(reason));
        }
        if request.name == HostRequest::EndSession.subtype() {
            link.signal(Signal::EndAnswered);
            if request.reply.is_err() {
                // An agent that does not know the request exits at the end of its input.
                link.signal(Signal::CloseInput);
            }
        }
    }

    fn accepts_prompt(&self, _transcript: &Transcript) -> bool {
        true
    }

    fn check_prompt(&self, _prompt: &Prompt) -> Result<(), DialogueError> {
        Ok(())
    }

    fn prompt(&mut self, prompt: &Prompt, link: &mut Link<'_>) {
        let uuid = prompt.uuid.clone();
        let purpose = uuid.map_or(LinePurpose::Other, LinePurpose::Prompt);
        let line = prompt.encode();
        link.signal(Signal::Write { line, purpose });
    }

    fn prompt_lost(&mut self, _uuid: &str) {}

    fn request(
        &mut self,
        request: &HostRequest,
        ticket: Ticket,
        link: &mut Link<'_>,
    ) -> Result<(), DialogueError> {
        write_request(request, Some(ticket), link);
        Ok(())
    }

    fn set_option(
        &mut self,
        option: &str,
        value: &str,
        ticket: Ticket,
        link: &mut Link<'_>,
    ) -> Result<(), DialogueError> {
        let value = value.to_owned();
        let request = match option {
            "model" => HostRequest::SetModel { model: Some(value) },
            "mode" => HostRequest::SetPermissionMode { mode: value },
            other => {
                return Err(DialogueError::Unsupported {
                    what: format!("the option {other}"),
                    dialect: "claude",
                });
            }
        };
        self.request(&request, ticket, link)
    }

    fn answer(
        &mut self,
        record: &PermissionRecord,
        answer: &PermissionAnswer,
    ) -> Result<EncodedAnswer, DialogueError> {
        let decision = answer.decision(record)?;
        let input = RawJson::parse(&record.input);
        Ok(EncodedAnswer {
            line: permission(&record.request_id, &decision, input),
            decision,
        })
    }

    fn end(&mut self, link: &mut Link<'_>) {
        write_request(&HostRequest::EndSession, None, link);
    }

    fn probe(&mut self, link: &mut Link<'_>) {
        let probe = HostRequest::Other {
            subtype: LIVENESS_PROBE.to_owned(),
            fields: serde_json::Map::new(),
        };
        link.probe(LIVENESS_PROBE, |id| control_request(id, &probe));
    }

    fn capabilities(&self) -> Capabilities {
        use Capability::{
            Fork, Hooks, Images, Interrupt, Models, Modes, PermissionRules, Questions, Queue,
            Resume, Subagents, Tasks,
        };
        Capabilities::new([
            Queue,
            Interrupt,
            Tasks,
            Resume,
            Fork,
            Modes,
            Models,
            Images,
            Questions,
            Subagents,
            Hooks,
            PermissionRules,
        ])
    }
}

fn write_request(request: &HostRequest, ticket: Option<Ticket>, link: &mut Link<'_>) {
    link.request(request.subtype(), ticket, |id| control_request(id, request));
}

/// Returns the prompt of a line of input, with the text that the transcript shows.
fn prompt_seen(line: RawJson<'_>) -> Option<Signal> {
    let text = |it: RawJson<'_>| it.as_str().map(|it| it.decode().into_owned());
    let content = line.get("message")?.get("content")?;
    let texts = match text(content) {
        Some(whole) => vec![whole],
        None => {
            let parts = content.elements();
            parts.filter_map(|part| text(part.get("text")?)).collect()
        }
    };
    Some(Signal::PromptSeen {
        uuid: text(line.get("uuid")?)?,
        text: texts.join("\n"),
    })
}

/// Returns the answer to a permission request in a line of input.
fn answer_seen(line: RawJson<'_>) -> Option<Signal> {
    let text = |it: RawJson<'_>| it.as_str().map(|it| it.decode().into_owned());
    let response = line.get("response")?;
    let answer = response.get("response")?;
    let decision = match &*text(answer.get("behavior")?)? {
        "allow" => Decision::Allow {
            updated_input: answer.get("updatedInput").map(|it| it.text().to_owned()),
            updated_permissions: None,
        },
        _ => Decision::deny(""),
    };
    Some(Signal::AnswerSeen {
        id: text(response.get("request_id")?)?,
        decision,
    })
}

fn prompt_reported(line: &CommandLifecycle<'_>) -> Signal {
    let state = match &*line.state.unwrap_or_default().decode() {
        "started" => Some(ReceiptState::Started),
        "cancelled" | "discarded" | "refused" => Some(ReceiptState::Cancelled),
        // `queued` adds nothing to the echo, and `completed` nothing to the result.
        _ => None,
    };
    let uuid = line.command_uuid.map(|uuid| uuid.decode().into_owned());
    Signal::PromptReported { uuid, state }
}

/// A result names the prompts of its turn.
fn turn_prompts(line: &TurnResult<'_>) -> TurnPrompts {
    let named = line.user_message_uuids.into_iter();
    let named = named
        .flat_map(RawJson::elements)
        .filter_map(RawJson::as_str);
    let last = line.user_message_uuid;
    TurnPrompts {
        named: named.map(|uuid| uuid.decode().into_owned()).collect(),
        last: last.map(|uuid| uuid.decode().into_owned()),
        is_of_host: line.origin.is_none(),
    }
}

fn outcome(answer: &ControlAnswer<'_>) -> Result<String, Refusal> {
    let text = |it: Option<Str<'_>>| it.map(|it| it.decode().into_owned());
    if answer.subtype.is_some_and(|subtype| subtype == "error") {
        return Err(Refusal {
            reason: text(answer.error).unwrap_or_default(),
            code: text(answer.error_code),
        });
    }
    let response = answer.response.map_or("{}", RawJson::text);
    Ok(response.to_owned())
}

/// Handles a control request of the agent. The agent waits for each response without a limit, so a
/// request that this host does not support is refused at once.
fn agent_request(line: &ControlRequest<'_>, link: &mut Link<'_>) {
    let Some(id) = line.request_id.map(Str::decode) else {
        return;
    };
    let line = match line.body() {
        RequestBody::CanUseTool(ask) => {
            let record = PermissionRecord::open(&id, &ask, link.at_ms);
            return link.signal(Signal::PermissionAsked(Box::new(record)));
        }
        RequestBody::HookCallback(_) => hook_output(&id, "{}"),
        RequestBody::McpMessage(message) => {
            let server = message.server_name.unwrap_or_default();
            control_error(&id, &format!("no MCP server {server} in this host"))
        }
        // The protocol leaves dialogs of undeclared kinds without a response.
        RequestBody::Other { subtype } if subtype == "request_user_dialog" => return,
        _ => {
            let subtype = line.subtype();
            let error = format!("unsupported_request: this host does not serve {subtype}");
            control_error(&id, &error)
        }
    };
    let request_id = id.into_owned();
    link.signal(Signal::ReplyToAgent { request_id, line });
}
