//! An agent that a runner drives, in as few words as Claude Code's protocol permits: this program in a hidden mode.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

/// Variable of an agent that answers each prompt with this many bytes.
pub(super) const AGENT: &str = "BOWLINE_BENCH_AGENT";

/// Variable with the pause of the agent after each message, in milliseconds.
pub(super) const PAUSE: &str = "BOWLINE_BENCH_AGENT_PAUSE";

/// Bytes of text of a message.
const TEXT: usize = 2000;

/// The text of the last message of an answer.
pub(super) const LAST: &str = "the last one";

/// Runs the agent.
pub(super) fn agent(bytes: usize) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let mut answered = 0;
    let pause = std::env::var(PAUSE).ok().and_then(|it| it.parse().ok());
    let pause = Duration::from_millis(pause.unwrap_or_default());
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let written = match member(&line, "request_id") {
            Some(id) => writeln!(
                out,
                r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{id}","response":{{}}}}}}"#
            ),
            None => {
                answered += 1;
                let uuid = member(&line, "uuid").unwrap_or_default();
                write_turn(&mut out, answered, uuid, bytes, pause)
            }
        };
        if written.and_then(|()| out.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Returns a member of a line that is a string without escapes.
fn member<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

fn write_turn(
    out: &mut impl std::io::Write,
    turn: usize,
    uuid: &str,
    bytes: usize,
    pause: Duration,
) -> std::io::Result<()> {
    writeln!(
        out,
        r#"{{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":"/","uuid":"i{turn}"}}"#
    )?;
    let text = "x".repeat(TEXT);
    let count = bytes / TEXT;
    for number in 0..=count {
        let text = if number == count { LAST } else { &text };
        writeln!(
            out,
            r#"{{"type":"assistant","uuid":"a{turn}.{number}","session_id":"s","message":{{"id":"m{turn}.{number}","role":"assistant","model":"m","content":[{{"type":"text","text":"{text} of turn {turn}"}}]}}}}"#
        )?;
        if !pause.is_zero() {
            out.flush()?;
            std::thread::sleep(pause);
        }
    }
    writeln!(
        out,
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"","user_message_uuid":"{uuid}","user_message_uuids":["{uuid}"],"uuid":"r{turn}","session_id":"s"}}"#
    )
}
