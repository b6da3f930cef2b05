//! Streams of Codex and of ACP agents, each at one size and at twice that size.

use std::fmt::Write as _;

use bowline_jsonl::Framer;

use crate::dialect::DialectName;
use crate::host::Meta;
use crate::store::lookups;
use crate::transcript::Transcript;

/// Number of items of the smaller stream.
const COUNT: u32 = 300;

/// How many more lookups a stream of twice the size may take.
const MAX_RATIO: f64 = 2.3;

/// The lines of an agent.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn notification(&mut self, method: &str, params: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.0,
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{params}}}}}"#
        );
    }

    fn update(&mut self, session: &str, update: std::fmt::Arguments<'_>) {
        let update = format_args!(r#""sessionId":"{session}","update":{{{update}}}"#);
        self.notification("session/update", update);
    }

    fn chunk(&mut self, kind: &str, more: &str) {
        self.update("s", format_args!(
            r#""sessionUpdate":"agent_{kind}_chunk","content":{{"type":"text","text":"x"}}{more}"#
        ));
    }

    fn request(&mut self, id: u32, method: &str, params: std::fmt::Arguments<'_>) {
        let _ = writeln!(
            self.0,
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#
        );
    }
}

#[track_caller]
fn scales(dialect: DialectName, stream: fn(&mut Lines, u32)) {
    let [one, two] = [COUNT, 2 * COUNT].map(|count| {
        let mut lines = Lines::default();
        stream(&mut lines, count);
        let before = lookups();
        let (mut framer, mut transcript) = (Framer::default(), Transcript::with_dialect(dialect));
        framer.push(lines.0.into());
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                transcript.apply(&item, Meta::default());
            }
        }
        assert!(transcript.stats().unknown().next().is_none());
        lookups() - before
    });
    let ratio = two as f64 / one as f64;
    assert!(ratio <= MAX_RATIO, "{one} lookups, then {two}: {ratio:.1}");
}

#[test]
fn texts_and_thoughts_of_one_message_scale() {
    scales(DialectName::Acp, |lines, count| {
        for _ in 0..count {
            lines.chunk("thought", "");
            lines.chunk("message", "");
        }
    });
}

#[test]
fn messages_that_alternate_scale() {
    scales(DialectName::Acp, |lines, count| {
        for _ in 0..count {
            lines.chunk("message", r#","messageId":"a""#);
            lines.chunk("message", r#","messageId":"b""#);
        }
    });
    scales(DialectName::Codex, |lines, count| {
        for part in 0..count {
            for item in ["a", "b"] {
                lines.notification(
                    "item/reasoning/summaryTextDelta",
                    format_args!(
                        r#""threadId":"t","itemId":"{item}","summaryIndex":{part},"delta":"x""#
                    ),
                );
            }
        }
    });
}

#[test]
fn requests_of_threads_that_end_one_by_one_scale() {
    scales(DialectName::Codex, |lines, count| {
        lines.notification(
            "turn/started",
            format_args!(r#""threadId":"main","turn":{{"id":"m"}}"#),
        );
        for number in 0..count {
            lines.request(
                number,
                "item/commandExecution/requestApproval",
                format_args!(r#""threadId":"t{number}","itemId":"c{number}""#),
            );
        }
        for number in 0..count {
            lines.notification(
                "turn/completed",
                format_args!(
                    r#""threadId":"t{number}","turn":{{"id":"u","status":"interrupted"}}"#
                ),
            );
        }
    });
}

#[test]
fn calls_that_are_open_at_once_scale() {
    scales(DialectName::Acp, |lines, count| {
        for number in 0..count {
            lines.request(
                number,
                "session/request_permission",
                format_args!(
                    r#""sessionId":"s","toolCall":{{"toolCallId":"c{number}"}},"options":[]"#
                ),
            );
        }
        for number in (0..count).rev() {
            lines.update("s", format_args!(
                r#""sessionUpdate":"tool_call_update","toolCallId":"c{number}","status":"completed""#
            ));
        }
    });
}

#[test]
fn sub_agents_at_once_scale() {
    scales(DialectName::Acp, |lines, count| {
        for number in 0..count {
            lines.update("s", format_args!(
                r#""sessionUpdate":"subagent_update","sessionId":"a{number}","state":{{"state":"running"}}"#
            ));
            lines.update(&format!("a{number}"), format_args!(
                r#""sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"x"}}"#
            ));
        }
        for number in (0..count).rev() {
            lines.update("s", format_args!(
                r#""sessionUpdate":"subagent_update","sessionId":"a{number}","state":{{"state":"idle","stopReason":"end_turn"}}"#
            ));
        }
    });
}

#[test]
fn outputs_of_two_commands_scale() {
    scales(DialectName::Codex, |lines, count| {
        for _ in 0..count {
            for item in ["a", "b"] {
                lines.notification(
                    "item/commandExecution/outputDelta",
                    format_args!(r#""threadId":"t","itemId":"{item}","delta":"x\n""#),
                );
            }
        }
    });
}
