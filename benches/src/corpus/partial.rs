//! A session with partial messages.

use super::SEED;
use super::agent::{Agent, text_block, tool_use_block};
use super::text::{prose, quoted};

pub(super) fn generate(size: usize) -> String {
    let mut agent = Agent::new(SEED, size);
    while agent.wants_more(size) {
        turn(&mut agent);
    }
    agent.out
}

/// One turn: some messages, each a text and a tool call, then the result.
pub(super) fn turn(agent: &mut Agent) {
    agent.init();
    for _ in 0..agent.rng.range(4, 9) {
        agent.status();
        let id = message(agent);
        let length = agent.rng.range(40, 1_200);
        let output = quoted(&prose(&mut agent.rng, length));
        let structured = format!(
            r#"{{"stdout":{output},"stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}}"#
        );
        agent.tool_result(&id, &output, Some(&structured));
    }
    let text = prose(&mut agent.rng, 300);
    agent.result(&text);
}

/// Streams one message. Returns the id of its tool use.
fn message(agent: &mut Agent) -> String {
    agent.message_start();
    let mut index = 0;
    if agent.rng.chance(300) {
        thinking(agent);
        index = 1;
    }
    let length = agent.rng.range(400, 2_000);
    let text = prose(&mut agent.rng, length);
    agent.block_start(index, r#"{"type":"text","text":""}"#);
    deltas(agent, index, "text_delta", "text", &text);
    agent.assistant(&text_block(&text));
    agent.block_stop(index);

    let id = agent.rng.id("toolu_");
    let length = agent.rng.range(60, 500);
    let command = prose(&mut agent.rng, length);
    let input = format!(
        r#"{{"command": {}, "description": "look around"}}"#,
        quoted(&command)
    );
    agent.block_start(index + 1, &tool_use_block(&id, "Bash", "{}"));
    agent.delta(index + 1, "input_json_delta", "partial_json", "");
    deltas(agent, index + 1, "input_json_delta", "partial_json", &input);
    agent.assistant(&tool_use_block(&id, "Bash", &input));
    agent.block_stop(index + 1);
    agent.message_end("tool_use", text.len() / 4);
    id
}

fn thinking(agent: &mut Agent) {
    let length = agent.rng.range(60, 300);
    let text = prose(&mut agent.rng, length);
    agent.block_start(0, r#"{"type":"thinking","thinking":"","signature":""}"#);
    for (number, piece) in pieces(agent, &text).iter().enumerate() {
        agent.thinking_tokens(3 * number);
        agent.delta(0, "thinking_delta", "thinking", piece);
    }
    let signature = agent.rng.id("") + &agent.rng.id("") + &agent.rng.id("");
    agent.delta(0, "signature_delta", "signature", &signature);
    agent.assistant(&format!(
        r#"{{"type":"thinking","thinking":{},"signature":"{signature}"}}"#,
        quoted(&text)
    ));
    agent.block_stop(0);
}

fn deltas(agent: &mut Agent, index: usize, kind: &str, key: &str, text: &str) {
    for piece in pieces(agent, text) {
        agent.delta(index, kind, key, &piece);
    }
}

/// Splits a text like a model streams it: some characters at a time.
fn pieces(agent: &mut Agent, text: &str) -> Vec<String> {
    let mut characters = text.chars().peekable();
    let mut pieces = Vec::new();
    while characters.peek().is_some() {
        let length = agent.rng.range(4, 27);
        pieces.push(characters.by_ref().take(length).collect());
    }
    pieces
}
