//! Streams in which each item may be made to cost as much as all the items before it.

use std::fmt::Write as _;

use bowline_reducer::dialect::DialectName::{self, Acp, Claude, Codex};

use super::dialects;

/// A kind of stream.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// The protocol of its agent.
    pub(super) dialect: DialectName,
    /// Returns the host's lines with this number of items, where the fold reads them.
    pub(super) input: Option<fn(u64) -> String>,
    /// Returns a stream with this number of items.
    pub(super) stream: fn(u64) -> String,
}

/// Every shape.
pub(super) const SHAPES: &[Shape] = &[
    Shape {
        name: "open permission requests",
        dialect: Claude,
        input: None,
        stream: permissions,
    },
    Shape {
        name: "open tool calls",
        dialect: Claude,
        input: None,
        stream: calls,
    },
    Shape {
        name: "lines superseded together",
        dialect: Claude,
        input: None,
        stream: superseded,
    },
    Shape {
        name: "streamed blocks without lines",
        dialect: Claude,
        input: None,
        stream: stopped_blocks,
    },
    Shape {
        name: "streamed blocks with late lines",
        dialect: Claude,
        input: None,
        stream: late_lines,
    },
    Shape {
        name: "escapes between notices",
        dialect: Claude,
        input: None,
        stream: escapes,
    },
    Shape {
        name: "characters split between notices",
        dialect: Claude,
        input: None,
        stream: characters,
    },
    Shape {
        name: "queued prompts",
        dialect: Claude,
        input: None,
        stream: prompts,
    },
    Shape {
        name: "agents that stream at once",
        dialect: Claude,
        input: None,
        stream: agents,
    },
    Shape {
        name: "background tasks",
        dialect: Claude,
        input: None,
        stream: tasks,
    },
    Shape {
        name: "conversations",
        dialect: Claude,
        input: None,
        stream: conversations,
    },
    Shape {
        name: "repeated stream",
        dialect: Claude,
        input: None,
        stream: repeated,
    },
    Shape {
        name: "text and reasoning in turns",
        dialect: Acp,
        input: None,
        stream: dialects::texts_and_thoughts,
    },
    Shape {
        name: "messages in turns",
        dialect: Acp,
        input: None,
        stream: dialects::alternating_messages,
    },
    Shape {
        name: "open requests of ACP",
        dialect: Acp,
        input: None,
        stream: dialects::requests,
    },
    Shape {
        name: "sub-agents of ACP",
        dialect: Acp,
        input: None,
        stream: dialects::sub_agents,
    },
    Shape {
        name: "paragraphs in turns",
        dialect: Codex,
        input: None,
        stream: dialects::paragraphs,
    },
    Shape {
        name: "outputs in turns",
        dialect: Codex,
        input: None,
        stream: dialects::outputs,
    },
    Shape {
        name: "open approvals of threads",
        dialect: Codex,
        input: None,
        stream: dialects::threads,
    },
    Shape {
        name: "messages that are continued in turns",
        dialect: Claude,
        input: None,
        stream: continued_messages,
    },
    Shape {
        name: "discarded drafts of messages in turns",
        dialect: Claude,
        input: None,
        stream: discarded_drafts,
    },
    Shape {
        name: "abandoned blocks",
        dialect: Claude,
        input: None,
        stream: abandoned,
    },
    Shape {
        name: "drafts around finished blocks",
        dialect: Claude,
        input: None,
        stream: drafts_around_blocks,
    },
    Shape {
        name: "models in turns",
        dialect: Claude,
        input: None,
        stream: models,
    },
    Shape {
        name: "usage limits",
        dialect: Claude,
        input: None,
        stream: limits,
    },
    Shape {
        name: "open prompts of ACP",
        dialect: Acp,
        input: Some(dialects::prompts),
        stream: dialects::answers,
    },
    Shape {
        name: "settings of ACP",
        dialect: Acp,
        input: Some(dialects::setting_requests),
        stream: dialects::settings,
    },
];

/// The lines of a stream. Each line has a uuid.
#[derive(Debug, Default)]
struct Lines {
    text: String,
    count: u64,
}

impl Lines {
    /// Appends a line with these members.
    fn line(&mut self, members: std::fmt::Arguments<'_>) {
        let number = self.count;
        self.count += 1;
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.text,
            "{{{members},\"session_id\":\"s\",\"uuid\":\"u{number}\"}}"
        );
    }

    fn event(&mut self, parent: &str, message: &str, event: std::fmt::Arguments<'_>) {
        self.line(format_args!(
            r#""type":"stream_event","event":{event},"parent_tool_use_id":{parent},"api_message_id":"{message}""#
        ));
    }

    fn message_start(&mut self, parent: &str, message: &str) {
        self.event(
            parent,
            message,
            format_args!(
                r#"{{"type":"message_start","message":{{"id":"{message}","model":"m"}}}}"#
            ),
        );
    }

    fn text_start(&mut self, parent: &str, message: &str, index: u64) {
        self.event(parent, message, format_args!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"text","text":""}}}}"#
        ));
    }

    fn delta(&mut self, parent: &str, message: &str, index: u64, text: &str) {
        self.event(parent, message, format_args!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        ));
    }

    fn block_stop(&mut self, message: &str, index: u64) {
        self.event(
            "null",
            message,
            format_args!(r#"{{"type":"content_block_stop","index":{index}}}"#),
        );
    }

    fn block(&mut self, message: &str, block: std::fmt::Arguments<'_>, more: &str) {
        self.line(format_args!(
            r#""type":"assistant","message":{{"id":"{message}","model":"m","content":[{block}]}},"parent_tool_use_id":null{more}"#
        ));
    }

    fn call(&mut self, number: u64, name: &str) {
        self.block(
            "m",
            format_args!(r#"{{"type":"tool_use","id":"t{number}","name":"{name}","input":{{}}}}"#),
            "",
        );
    }

    fn result(&mut self, number: u64) {
        self.line(format_args!(
            r#""type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t{number}","content":"x"}}]}}"#
        ));
    }

    fn notice(&mut self) {
        self.line(format_args!(
            r#""type":"system","subtype":"informational","content":"hm""#
        ));
    }
}

/// Requests that are all open before the first of them is answered.
fn permissions(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        lines.call(number, "Bash");
        lines.line(format_args!(
            r#""type":"control_request","request_id":"r{number}","request":{{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t{number}","input":{{}}}}"#
        ));
    }
    (0..count).rev().for_each(|number| lines.result(number));
    lines.text
}

/// Calls that are all open before the last of them has its result.
fn calls(count: u64) -> String {
    let mut lines = Lines::default();
    (0..count).for_each(|number| lines.call(number, "Bash"));
    (0..count).rev().for_each(|number| lines.result(number));
    lines.text
}

/// Lines of one message, all named by the line that replaces them.
fn superseded(count: u64) -> String {
    let mut lines = Lines::default();
    for _ in 0..count {
        lines.block("m", format_args!(r#"{{"type":"text","text":"x"}}"#), "");
    }
    let named: Vec<_> = (0..count).map(|number| format!("\"u{number}\"")).collect();
    let more = format!(",\"supersedes\":[{}]", named.join(","));
    lines.block("n", format_args!(r#"{{"type":"text","text":"y"}}"#), &more);
    lines.text
}

fn stopped_blocks(count: u64) -> String {
    let mut lines = Lines::default();
    lines.message_start("null", "m");
    for index in 0..count {
        lines.text_start("null", "m", index);
        lines.delta("null", "m", index, "x");
        lines.block_stop("m", index);
    }
    lines.text
}

fn late_lines(count: u64) -> String {
    let mut lines = Lines {
        text: stopped_blocks(count),
        count: 3 * count + 1,
    };
    for _ in 0..count {
        lines.block("m", format_args!(r#"{{"type":"text","text":"x"}}"#), "");
    }
    lines.text
}

/// One text, no two parts of which are stored side by side.
fn escapes(count: u64) -> String {
    let mut lines = Lines::default();
    lines.message_start("null", "m");
    lines.text_start("null", "m", 0);
    for _ in 0..count {
        lines.delta("null", "m", 0, "x\\n");
        lines.notice();
    }
    lines.text
}

/// Characters whose halves come in two deltas.
fn characters(count: u64) -> String {
    let mut lines = Lines::default();
    lines.message_start("null", "m");
    lines.text_start("null", "m", 0);
    for _ in 0..count {
        for half in ["\\ud83d", "\\ude00"] {
            lines.delta("null", "m", 0, half);
            lines.notice();
        }
    }
    lines.text
}

/// Prompts that are echoed, then merged into one turn, and then named by a result each.
fn prompts(count: u64) -> String {
    let mut lines = Lines::default();
    let echo = |lines: &mut Lines, parts: &str| {
        lines.line(format_args!(
            r#""type":"user","message":{{"content":[{parts}]}},"isReplay":true"#
        ));
    };
    let part = |number: u64, end: &str| format!(r#"{{"type":"text","text":"p{number}{end}"}}"#);
    (0..count).for_each(|number| echo(&mut lines, &part(number, "")));
    let merged: Vec<_> = (0..count).map(|number| part(number, "\\n")).collect();
    echo(
        &mut lines,
        &format!("{},{}", merged.join(","), part(count, "")),
    );
    let named: Vec<_> = (0..count).map(|number| format!("\"u{number}\"")).collect();
    let named = named.join(",");
    for _ in 0..2 {
        lines.line(format_args!(
            r#""type":"system","subtype":"init","user_message_uuids":[{named}]"#
        ));
    }
    for number in 0..count {
        lines.line(format_args!(
            r#""type":"result","is_error":false,"result":"x","user_message_uuid":"u{number}""#
        ));
    }
    lines.text
}

/// Sub-agents, each with a message that streams until all others do.
fn agents(count: u64) -> String {
    let mut lines = Lines::default();
    (0..count).for_each(|number| lines.call(number, "Agent"));
    for number in 0..count {
        let (parent, message) = (format!("\"t{number}\""), format!("a{number}"));
        lines.message_start(&parent, &message);
        lines.text_start(&parent, &message, 0);
    }
    for number in 0..count {
        lines.delta(&format!("\"t{number}\""), &format!("a{number}"), 0, "x");
    }
    lines.text
}

/// Tasks that run at once, listed, and ended one by one.
fn tasks(count: u64) -> String {
    let mut lines = Lines::default();
    let listed: Vec<_> = (0..count)
        .map(|number| format!(r#"{{"task_id":"k{number}"}}"#))
        .collect();
    let listed = listed.join(",");
    for _ in 0..2 {
        lines.line(format_args!(
            r#""type":"system","subtype":"background_tasks_changed","tasks":[{listed}]"#
        ));
    }
    for number in (0..count).rev() {
        lines.line(format_args!(
            r#""type":"system","subtype":"task_notification","task_id":"k{number}","status":"completed""#
        ));
    }
    lines.text
}

/// Runs in one file, each with a conversation and a model of its own.
fn conversations(count: u64) -> String {
    let mut text = String::new();
    for number in 0..count {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            r#"{{"type":"system","subtype":"init","session_id":"s{number}","uuid":"i{number}"}}
{{"type":"result","is_error":false,"result":"x","total_cost_usd":0.5,"modelUsage":{{"m{number}":{{"inputTokens":1,"outputTokens":1}}}},"session_id":"s{number}","uuid":"r{number}"}}"#
        );
    }
    text
}

/// A text that streams, twice.
fn repeated(count: u64) -> String {
    let mut lines = Lines::default();
    lines.message_start("null", "m");
    lines.text_start("null", "m", 0);
    (0..count / 2).for_each(|_| lines.delta("null", "m", 0, "x"));
    lines.text.repeat(2)
}

/// Two messages that stream in turns, each of which has a block more each time.
fn continued_messages(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        let (message, index) = (format!("m{}", number % 2), number / 2);
        lines.message_start("null", &message);
        lines.text_start("null", &message, index);
        lines.delta("null", &message, index, "x");
        lines.block_stop(&message, index);
    }
    lines.text
}

/// The same, where no block is complete when the other message begins.
fn discarded_drafts(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        let message = format!("m{}", number % 2);
        lines.message_start("null", &message);
        lines.text_start("null", &message, 0);
        lines.delta("null", &message, 0, "x");
    }
    lines.text
}

/// Calls between two texts whose lines do not come.
fn drafts_around_blocks(count: u64) -> String {
    let mut lines = Lines::default();
    lines.message_start("null", "m");
    lines.text_start("null", "m", 0);
    (0..count / 2).for_each(|number| lines.call(number, "Bash"));
    lines.text_start("null", "m", 1);
    (count / 2..count).for_each(|number| lines.call(number, "Bash"));
    lines.text
}

/// Limits of as many windows, twice.
fn limits(count: u64) -> String {
    let mut lines = Lines::default();
    for number in (0..count).chain(0..count) {
        lines.line(format_args!(
            r#""type":"rate_limit_event","rate_limit_info":{{"status":"allowed","rateLimitType":"w{number}","resetsAt":1}}"#
        ));
    }
    lines.text
}

/// As many models, each of them in use for a while, where the agent has listed its models.
fn models(count: u64) -> String {
    let mut lines = Lines::default();
    lines.line(format_args!(
        r#""type":"control_response","response":{{"subtype":"success","request_id":"r","response":{{"models":[{{"value":"m","displayName":"M"}}]}}}}"#
    ));
    for number in 0..count {
        lines.line(format_args!(
            r#""type":"system","subtype":"init","model":"m{number}""#
        ));
    }
    lines.text
}

/// Streamed blocks without lines, then as many attempts that are abandoned after the last of them.
fn abandoned(count: u64) -> String {
    let mut lines = Lines {
        text: stopped_blocks(count),
        count: 3 * count + 1,
    };
    for _ in 0..count {
        lines.line(format_args!(
            r#""type":"stream_event","event":{{"type":"ping"}},"parent_tool_use_id":null,"abandoned_blocks":{{"api_message_id":"m","from_block_index":{count}}}"#
        ));
    }
    lines.text
}
