//! The shapes of other agents' streams.

use std::fmt::{Arguments, Write as _};

/// The lines of an agent that speaks JSON-RPC.
#[derive(Debug, Default)]
struct Lines(String);

impl Lines {
    fn notification(&mut self, method: &str, params: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.0,
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{params}}}}}"#
        );
    }

    fn request(&mut self, id: u64, method: &str, params: Arguments<'_>) {
        let _ = writeln!(
            self.0,
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#
        );
    }

    fn response(&mut self, id: u64, result: Arguments<'_>) {
        let _ = writeln!(
            self.0,
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{{result}}}}}"#
        );
    }

    /// An update of a session of ACP.
    fn update(&mut self, session: &str, update: Arguments<'_>) {
        let params = format_args!(r#""sessionId":"{session}","update":{{{update}}}"#);
        self.notification("session/update", params);
    }

    fn chunk(&mut self, session: &str, kind: &str, more: &str) {
        self.update(
            session,
            format_args!(
                r#""sessionUpdate":"agent_{kind}_chunk","content":{{"type":"text","text":"x"}}{more}"#
            ),
        );
    }

    fn sub_agent(&mut self, number: u64, state: &str) {
        self.update(
            "s",
            format_args!(
                r#""sessionUpdate":"subagent_update","sessionId":"a{number}","state":{{{state}}}"#
            ),
        );
    }

    /// A delta of an item of Codex.
    fn delta(&mut self, kind: &str, item: &str, more: Arguments<'_>) {
        self.notification(
            kind,
            format_args!(r#""threadId":"t","itemId":"{item}","delta":"x\n"{more}"#),
        );
    }
}

/// One message of ACP, in which text and reasoning take turns.
pub(super) fn texts_and_thoughts(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        let kind = if number % 2 == 0 {
            "thought"
        } else {
            "message"
        };
        lines.chunk("s", kind, "");
    }
    lines.0
}

/// Two messages of ACP that take turns.
pub(super) fn alternating_messages(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        let message = number % 2;
        lines.chunk("s", "message", &format!(r#","messageId":"m{message}""#));
    }
    lines.0
}

/// Prompts of a host of ACP that are all open before the first answer.
pub(super) fn prompts(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        lines.request(
            number,
            "session/prompt",
            format_args!(r#""sessionId":"s","prompt":[{{"type":"text","text":"p{number}"}}]"#),
        );
    }
    lines.0
}

/// The answers to the prompts, in order.
pub(super) fn answers(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        lines.response(number, format_args!(r#""stopReason":"end_turn""#));
    }
    lines.0
}

/// Requests of a host of ACP that change as many settings.
pub(super) fn setting_requests(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        lines.request(
            number,
            "session/set_config_option",
            format_args!(r#""sessionId":"s","configId":"o{number}","value":"y""#),
        );
    }
    lines.0
}

/// The settings, the answers to the requests, and as many changes of the mode.
pub(super) fn settings(count: u64) -> String {
    let mut lines = Lines::default();
    let options: Vec<_> = (0..count)
        .map(|number| format!(r#"{{"id":"o{number}","name":"o","currentValue":"x"}}"#))
        .collect();
    lines.update(
        "s",
        format_args!(
            r#""sessionUpdate":"config_option_update","configOptions":[{}]"#,
            options.join(",")
        ),
    );
    for number in 0..count {
        lines.response(number, format_args!(""));
        lines.update(
            "s",
            format_args!(r#""sessionUpdate":"current_mode_update","currentModeId":"m""#),
        );
    }
    lines.0
}

/// Permission requests of ACP that are all open before the first call ends.
pub(super) fn requests(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        lines.request(
            number,
            "session/request_permission",
            format_args!(r#""sessionId":"s","toolCall":{{"toolCallId":"c{number}"}},"options":[]"#),
        );
    }
    for number in (0..count).rev() {
        lines.update(
            "s",
            format_args!(
                r#""sessionUpdate":"tool_call_update","toolCallId":"c{number}","status":"completed""#
            ),
        );
    }
    lines.0
}

/// Sub-agents of ACP that are all at work before the first of them ends.
pub(super) fn sub_agents(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        lines.sub_agent(number, r#""state":"running""#);
        lines.chunk(&format!("a{number}"), "message", "");
    }
    for number in (0..count).rev() {
        lines.sub_agent(number, r#""state":"idle","stopReason":"end_turn""#);
    }
    lines.0
}

/// Two items of Codex whose paragraphs take turns.
pub(super) fn paragraphs(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        let (item, part) = (format!("i{}", number % 2), number / 2 % 60_000);
        lines.delta(
            "item/reasoning/summaryTextDelta",
            &item,
            format_args!(r#","summaryIndex":{part}"#),
        );
    }
    lines.0
}

/// Two commands of Codex whose outputs take turns.
pub(super) fn outputs(count: u64) -> String {
    let mut lines = Lines::default();
    for number in 0..count {
        let item = format!("i{}", number % 2);
        lines.delta("item/commandExecution/outputDelta", &item, format_args!(""));
    }
    lines.0
}

/// Threads of Codex that all ask for an approval before they are interrupted one by one.
pub(super) fn threads(count: u64) -> String {
    let mut lines = Lines::default();
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
            format_args!(r#""threadId":"t{number}","turn":{{"id":"u","status":"interrupted"}}"#),
        );
    }
    lines.0
}
