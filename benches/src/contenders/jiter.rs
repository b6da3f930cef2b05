//! `jiter`, called member by member.
//!
//! Its strings are valid until the next call only, so they are copied into a reused buffer.

mod fold;
mod read;

use jiter::{Jiter, JiterResult};

use super::{Refused, lines, refused};
use crate::job::{Digest, Fold, Folded};
use read::Reader;

/// Range of a string in the buffer.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
}

type Text = Option<Span>;
type Usage = Option<[Option<u64>; 4]>;

#[derive(Debug, Default)]
struct Line {
    kind: u64,
    uuid: Text,
    session_id: Text,
    parent_tool_use_id: Text,
    message: Option<Message>,
    event: Option<Event>,
    subtype: Text,
    is_error: bool,
    total_cost_usd: Option<f64>,
    num_turns: Option<u64>,
    result: Text,
    usage: Usage,
}

#[derive(Debug, Default)]
struct Message {
    id: Text,
    model: Text,
    role: Text,
    usage: Usage,
    content: Content,
}

#[derive(Debug, Default)]
enum Content {
    #[default]
    Absent,
    Text(Span),
    Blocks(Vec<Block>),
}

#[derive(Debug, Default)]
struct Block {
    kind: u64,
    text: Text,
    thinking: Text,
    id: Text,
    name: Text,
    input: Option<usize>,
    tool_use_id: Text,
    is_error: bool,
    content: Content,
}

#[derive(Debug, Default)]
struct Event {
    kind: u64,
    index: u64,
    message: Option<Message>,
    content_block: Option<Block>,
    delta: Option<Delta>,
    usage: Usage,
}

#[derive(Debug, Default)]
struct Delta {
    kind: u64,
    text: Text,
    partial_json: Text,
    thinking: Text,
    signature: Text,
    stop_reason: Text,
}

pub(super) fn run<D: Digest>(bytes: &[u8]) -> Result<Folded, Refused> {
    let mut fold = Fold::<D>::default();
    let mut texts = String::new();
    let mut tape = Vec::new();
    for (number, line) in lines(bytes) {
        texts.clear();
        let parsed = parse(line, &mut texts, &mut tape).map_err(|error| refused(number, error))?;
        parsed.fold(&texts, &mut fold);
    }
    Ok(fold.folded())
}

fn parse(line: &[u8], texts: &mut String, tape: &mut Vec<u8>) -> JiterResult<Line> {
    let mut reader = Reader {
        json: Jiter::with_tape(line, std::mem::take(tape)),
        texts,
    };
    let parsed = reader.line()?;
    reader.json.finish()?;
    *tape = reader.json.into_tape();
    Ok(parsed)
}
