//! Members of lines that no record reads.

use crate::codex::client::ClientMessage;
use crate::codex::server::ServerMessage;
use crate::grammar::{Known, known_of};
use crate::raw::RawJson;
use crate::rpc;

impl<'a> ServerMessage<'a> {
    /// Returns the members of a line of Codex that this version of the crate does not read, as JSON pointers
    /// (RFC 6901) in the order of the line. The contents of a value that is kept as JSON, such as the arguments of a
    /// tool, are not looked at.
    ///
    /// Returns `None` for a line that is kept as a whole: a message that is [`ServerMessage::Other`], except an error,
    /// and an object that is no message.
    ///
    /// ```
    /// use bowline_jsonl::{RawJson, codex::ServerMessage};
    ///
    /// let line = r#"{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u","novelty":1}}}"#;
    /// let members = ServerMessage::unknown_members(RawJson::parse(line).unwrap());
    /// assert_eq!(members.unwrap(), ["/params/turn/novelty"]);
    /// let line = RawJson::parse(r#"{"method":"novelty","params":{}}"#).unwrap();
    /// assert!(ServerMessage::unknown_members(line).is_none());
    /// ```
    #[must_use]
    pub fn unknown_members(line: RawJson<'a>) -> Option<Vec<String>> {
        rpc::unknown_members(line, |message| Self::of(message).known_params())
    }

    /// Returns what is known of the parameters.
    fn known_params(&self) -> Option<Known> {
        Some(match self {
            Self::ThreadStarted(thread) => Known::Members(vec![("thread", known_of(&**thread))]),
            Self::ThreadStatus(status) | Self::ThreadName(status) => known_of(status),
            Self::TurnStarted(line) | Self::TurnCompleted(line) => known_of(&**line),
            Self::ItemStarted(line) | Self::ItemCompleted(line) => known_of(&**line),
            Self::TextDelta(delta)
            | Self::PlanDelta(delta)
            | Self::SummaryDelta(delta)
            | Self::ReasoningDelta(delta)
            | Self::OutputDelta(delta)
            | Self::PatchUpdated(delta)
            | Self::Diff(delta) => known_of(delta),
            Self::Plan(plan) => known_of(plan),
            Self::TokenUsage(usage) => known_of(&**usage),
            Self::RateLimits(limits) => Known::Members(vec![("rateLimits", known_of(&**limits))]),
            Self::Resolved(_) => Known::Members(vec![("requestId", Known::Value)]),
            Self::Notice(_, notice) => known_of(&**notice),
            Self::Approval(_, _, approval) => known_of(&**approval),
            Self::Questions(_, questions) => known_of(questions),
            Self::Other(_) => return None,
        })
    }
}

impl<'a> ClientMessage<'a> {
    /// Returns the members of a line of the host that this version of the crate does not read, as
    /// [`ServerMessage::unknown_members`] does of a line of Codex. The parameters of `initialize` are kept as a whole.
    ///
    /// ```
    /// use bowline_jsonl::{RawJson, codex::ClientMessage};
    ///
    /// let line = r#"{"id":1,"method":"turn/start","params":{"threadId":"t","input":[{"type":"text","novelty":1}]}}"#;
    /// let members = ClientMessage::unknown_members(RawJson::parse(line).unwrap());
    /// assert_eq!(members.unwrap(), ["/params/input/0/novelty"]);
    /// ```
    #[must_use]
    pub fn unknown_members(line: RawJson<'a>) -> Option<Vec<String>> {
        rpc::unknown_members(line, |message| Self::of(message).known_params())
    }

    /// Returns what is known of the parameters.
    fn known_params(&self) -> Option<Known> {
        Some(match self {
            Self::OpenThread(_, _, thread) => known_of(thread),
            Self::StartTurn(_, turn) | Self::SteerTurn(_, turn) | Self::InterruptTurn(_, turn) => {
                known_of(turn)
            }
            Self::Initialize(_) | Self::Other(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_server(line: &str) -> Option<Vec<String>> {
        ServerMessage::unknown_members(RawJson::parse(line).expect("JSON"))
    }

    #[test]
    fn members_are_those_of_the_method() {
        let lines = [
            (
                r#"{"method":"thread/started","params":{"thread":{"id":"t","turns":[{"id":"u","new":1}],"new":2}},"new":3}"#,
                &["/params/thread/turns/0/new", "/params/thread/new", "/new"][..],
            ),
            (
                r#"{"method":"item/completed","params":{"item":{"type":"fileChange","changes":[{"kind":{"type":"add","new":1}}]}},"emittedAtMs":4}"#,
                &["/params/item/changes/0/kind/new"],
            ),
            (
                r#"{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":1,"new":1}}}}"#,
                &["/params/rateLimits/primary/new"],
            ),
            (
                r#"{"method":"serverRequest/resolved","params":{"requestId":1,"new":1}}"#,
                &["/params/new"],
            ),
            (
                r#"{"id":1,"method":"item/tool/requestUserInput","params":{"questions":[{"id":"q","options":[{"label":"a","new":1}]}]}}"#,
                &["/params/questions/0/options/0/new"],
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"new":1}}"#,
                &["/error/new"],
            ),
            // What is kept as JSON may have any members.
            (
                r#"{"method":"item/started","params":{"item":{"type":"mcpToolCall","arguments":{"any":1}}}}"#,
                &[],
            ),
        ];
        for (line, expected) in lines {
            assert_eq!(of_server(line).expect("a known method"), expected, "{line}");
        }
    }

    #[test]
    fn whole_lines_have_no_unknown_members() {
        let lines = [
            r#"{"id":1,"result":{"new":1}}"#,
            r#"{"method":"novelty","params":{"new":1}}"#,
            r#"{"id":1,"method":"novelty","params":{"new":1}}"#,
            r#"{"type":"result","new":1}"#,
        ];
        for line in lines {
            assert_eq!(of_server(line), None, "{line}");
        }
        let line = RawJson::parse(r#"{"id":0,"method":"initialize","params":{"new":1}}"#);
        let members = ClientMessage::unknown_members(line.expect("JSON"));
        assert_eq!(members, None);
    }
}
