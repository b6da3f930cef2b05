//! The events of one line of the agent's output.

use bowline_jsonl::{
    ApiEvent, BlockBody, Body, Delta, Event, Item, RawJson, Str, ToolUse, TurnResult,
};
use bowline_reducer::{Entry, EntryKind, ToolCall, Transcript};

use super::DialogueEventKind;

/// Returns the tool calls around a sub-agent's line, the outermost first. `parent` is the call that
/// the line names.
pub(crate) fn call_path(transcript: &Transcript, parent: Option<&str>) -> Vec<String> {
    let mut path = Vec::new();
    let mut next = parent.map(str::to_owned);
    while let Some(id) = next {
        let outer = transcript
            .tool_call(&id)
            .and_then(|call| call.thread().call());
        next = outer.map(|call| call.id().into());
        // A call whose parent was not seen yet may name itself.
        if path.contains(&id) {
            break;
        }
        path.push(id);
    }
    path.reverse();
    path
}

/// Emits the events of a line that the transcript has taken in.
pub(crate) fn line_events(
    item: &Item<'_>,
    transcript: &Transcript,
    mut emit: impl FnMut(DialogueEventKind),
) {
    match &item.event {
        Ok(event) => emit_event(event, transcript, &mut emit),
        Err(error) => emit(DialogueEventKind::ParseError {
            text: format!("line {}: {error}", item.at.line),
        }),
    }
}

fn emit_event(
    event: &Event<'_>,
    transcript: &Transcript,
    emit: &mut impl FnMut(DialogueEventKind),
) {
    match &event.body {
        Body::Assistant(line) => {
            for block in line.message.blocks() {
                agent_block(&block.body).into_iter().for_each(&mut *emit);
            }
        }
        Body::User(line) if !line.is_replay => {
            for block in line.message.blocks() {
                tool_result(&block.body, transcript)
                    .into_iter()
                    .for_each(&mut *emit);
            }
        }
        Body::Stream(line) => {
            if let ApiEvent::BlockDelta { delta, .. } = &line.event {
                text_delta(*delta).into_iter().for_each(emit);
            }
        }
        Body::Result(line) => emit(result_line(line, transcript)),
        _ => {}
    }
}

fn agent_block(body: &BlockBody<'_>) -> Option<DialogueEventKind> {
    Some(match body {
        BlockBody::Text { text } => DialogueEventKind::Text { text: owned(*text) },
        BlockBody::Thinking { thinking, .. } => DialogueEventKind::Thinking {
            text: owned(*thinking),
        },
        BlockBody::ToolUse(call) | BlockBody::ServerToolUse(call) => tool_use(call),
        _ => return None,
    })
}

fn tool_use(call: &ToolUse<'_>) -> DialogueEventKind {
    DialogueEventKind::ToolUse {
        id: owned(call.id),
        name: owned(call.name),
        input: call.input.map_or("{}", RawJson::text).to_owned(),
    }
}

fn tool_result(body: &BlockBody<'_>, transcript: &Transcript) -> Option<DialogueEventKind> {
    let BlockBody::ToolResult(result) = body else {
        return None;
    };
    let id = owned(result.tool_use_id);
    let text = transcript.tool_call(&id).and_then(ToolCall::result);
    Some(DialogueEventKind::ToolResult {
        text: text.map_or_else(String::new, |it| it.text().to_cow().into_owned()),
        id,
        is_error: result.is_error,
    })
}

fn text_delta(delta: Delta<'_>) -> Option<DialogueEventKind> {
    let (text, is_thinking) = match delta {
        Delta::Text(text) => (text, false),
        Delta::Thinking(text) => (text, true),
        _ => return None,
    };
    Some(DialogueEventKind::Delta {
        text: owned(text),
        is_thinking,
    })
}

/// Returns the end of the last turn of the transcript.
pub(crate) fn turn_end(transcript: &Transcript) -> Option<DialogueEventKind> {
    let last = transcript.entries().rev().map(Entry::kind);
    let mut results = last.filter_map(|kind| match kind {
        EntryKind::Result {
            subtype,
            is_error,
            outcome,
            text,
            ..
        } => Some(DialogueEventKind::TurnEnd {
            subtype: subtype.to_owned(),
            outcome,
            is_error,
            text: text.map(|text| text.to_cow().into_owned()),
            cost_usd: transcript.usage().cost_usd(),
        }),
        _ => None,
    });
    results.next()
}

fn result_line(line: &TurnResult<'_>, transcript: &Transcript) -> DialogueEventKind {
    let last = transcript.entries().rev().map(Entry::kind);
    let mut results = last.filter_map(|kind| match kind {
        EntryKind::Result { outcome, text, .. } => Some((outcome, text)),
        _ => None,
    });
    let (outcome, text) = results.next().unzip();
    DialogueEventKind::TurnEnd {
        subtype: line.subtype.map(owned).unwrap_or_default(),
        outcome: outcome.unwrap_or(bowline_reducer::Outcome::Failed),
        is_error: line.is_error,
        text: text.flatten().map(|text| text.to_cow().into_owned()),
        cost_usd: transcript.usage().cost_usd(),
    }
}

fn owned(text: Str<'_>) -> String {
    text.decode().into_owned()
}
