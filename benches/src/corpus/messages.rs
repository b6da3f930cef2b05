//! A session without partial messages.

use super::SEED;
use super::agent::{Agent, text_block, tool_use_block};
use super::text::{code, numbered, prose, quoted};

const PATH: &str = "/home/dev/project/src/main.rs";

pub(super) fn generate(size: usize) -> String {
    let mut agent = Agent::new(SEED ^ 1, size);
    while agent.wants_more(size) {
        turn(&mut agent);
    }
    agent.out
}

/// One turn: text and tools, then the result.
pub(super) fn turn(agent: &mut Agent) {
    agent.init();
    for _ in 0..agent.rng.range(16, 40) {
        exchange(agent);
    }
    let text = prose(&mut agent.rng, 400);
    agent.result(&text);
}

/// A text, and a tool with its result.
pub(super) fn exchange(agent: &mut Agent) {
    agent.next_message();
    if agent.rng.chance(600) {
        let length = agent.rng.range(200, 1_600);
        let text = prose(&mut agent.rng, length);
        agent.assistant(&text_block(&text));
    }
    let id = agent.rng.id("toolu_");
    match agent.rng.range(0, 20) {
        0..7 => edit(agent, &id),
        7..14 => write(agent, &id),
        14..17 => read(agent, &id),
        _ => bash(agent, &id),
    }
}

/// The structured result contains the whole file and the patch, which the job does not decode.
fn edit(agent: &mut Agent, id: &str) {
    let [old, new] = [(60, 300), (60, 400)].map(|(low, high)| some_file(agent, low, high));
    let file = quoted(&some_file(agent, 2_000, 9_000));
    let (old_text, new_text) = (quoted(&old), quoted(&new));
    agent.assistant(&tool_use_block(
        id,
        "Edit",
        &format!(
            r#"{{"replace_all":false,"file_path":"{PATH}","old_string":{old_text},"new_string":{new_text}}}"#
        ),
    ));
    let content = quoted(&format!("The file {PATH} has been updated successfully."));
    let patch = patch(&old, &new);
    let structured = format!(
        r#"{{"filePath":"{PATH}","oldString":{old_text},"newString":{new_text},"originalFile":{file},"structuredPatch":[{{"oldStart":1,"oldLines":9,"newStart":1,"newLines":12,"lines":[{patch}]}}],"userModified":false,"replaceAll":false}}"#
    );
    agent.tool_result(id, &content, Some(&structured));
}

fn write(agent: &mut Agent, id: &str) {
    let text = quoted(&some_file(agent, 800, 6_000));
    agent.assistant(&tool_use_block(
        id,
        "Write",
        &format!(r#"{{"file_path":"{PATH}","content":{text}}}"#),
    ));
    let content = quoted(&format!("File created successfully at: {PATH}"));
    let structured = format!(
        r#"{{"type":"create","filePath":"{PATH}","content":{text},"structuredPatch":[],"originalFile":null,"userModified":false}}"#
    );
    agent.tool_result(id, &content, Some(&structured));
}

fn read(agent: &mut Agent, id: &str) {
    let text = some_file(agent, 800, 8_000);
    agent.assistant(&tool_use_block(
        id,
        "Read",
        &format!(r#"{{"file_path":"{PATH}"}}"#),
    ));
    let structured = format!(
        r#"{{"type":"text","file":{{"filePath":"{PATH}","content":{},"numLines":120,"startLine":1,"totalLines":120}}}}"#,
        quoted(&text)
    );
    agent.tool_result(id, &quoted(&numbered(&text)), Some(&structured));
}

fn bash(agent: &mut Agent, id: &str) {
    let output = quoted(&some_file(agent, 100, 4_000));
    agent.assistant(&tool_use_block(
        id,
        "Bash",
        r#"{"command":"cargo test --quiet | tail -n 40","description":"run the tests"}"#,
    ));
    let structured = format!(
        r#"{{"stdout":{output},"stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}}"#
    );
    agent.tool_result(id, &output, Some(&structured));
}

/// Returns code, or prose as in a manual.
fn some_file(agent: &mut Agent, low: usize, high: usize) -> String {
    let length = agent.rng.range(low, high);
    if agent.rng.chance(480) {
        code(&mut agent.rng, length)
    } else {
        prose(&mut agent.rng, length)
    }
}

/// Returns the lines of a patch as a list of strings.
fn patch(old: &str, new: &str) -> String {
    let old = old.lines().map(|line| quoted(&format!("-{line}")));
    let new = new.lines().map(|line| quoted(&format!("+{line}")));
    old.chain(new).collect::<Vec<_>>().join(",")
}
