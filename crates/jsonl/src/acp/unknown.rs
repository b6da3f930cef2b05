//! Members of lines that no record reads.

use crate::acp::message::{AgentMessage, HostMessage};
use crate::acp::result::ConfigOption;
use crate::acp::update::Update;
use crate::grammar::{Known, Record, known_of, members_of, set_known};
use crate::raw::RawJson;
use crate::rpc;

impl<'a> AgentMessage<'a> {
    /// Returns the members of a line of the agent that this version of the crate does not read, as JSON pointers
    /// (RFC 6901) in the order of the line. The contents of a value that is kept as JSON, such as the input of a
    /// tool, are not looked at.
    ///
    /// Returns `None` for a line that is kept as a whole: an [`Update::Unknown`], a message that is
    /// [`AgentMessage::Other`], except an error, and an object that is no message.
    ///
    /// ```
    /// use bowline_jsonl::{RawJson, acp::AgentMessage};
    ///
    /// let line = r#"{"method":"session/update","params":{"sessionId":"s","update":
    ///     {"sessionUpdate":"plan","entries":[{"content":"Look","novelty":1}]}}}"#;
    /// let line = line.replace('\n', " ");
    /// let members = AgentMessage::unknown_members(RawJson::parse(&line).unwrap());
    /// assert_eq!(members.unwrap(), ["/params/update/entries/0/novelty"]);
    /// ```
    #[must_use]
    pub fn unknown_members(line: RawJson<'a>) -> Option<Vec<String>> {
        rpc::unknown_members(line, |message| Self::of(message).known_params())
    }

    /// Returns what is known of the parameters.
    fn known_params(&self) -> Option<Known> {
        Some(match self {
            Self::Update(update) => {
                let mut members = members_of(update);
                set_known(&mut members, "update", update.update().known()?);
                Known::Members(members)
            }
            Self::Permission(_, request) => known_of(&**request),
            Self::Elicitation(_, form) => known_of(&**form),
            Self::Cancel(_) => request_id(),
            Self::Other(_) => return None,
        })
    }
}

impl<'a> HostMessage<'a> {
    /// Returns the members of a line of the host that this version of the crate does not read, as
    /// [`AgentMessage::unknown_members`] does of a line of the agent. The parameters of `initialize` are kept as a whole.
    ///
    /// ```
    /// use bowline_jsonl::{RawJson, acp::HostMessage};
    ///
    /// let line = r#"{"id":1,"method":"session/set_mode","params":{"sessionId":"s","modeId":"plan","novelty":1}}"#;
    /// let members = HostMessage::unknown_members(RawJson::parse(line).unwrap());
    /// assert_eq!(members.unwrap(), ["/params/novelty"]);
    /// ```
    #[must_use]
    pub fn unknown_members(line: RawJson<'a>) -> Option<Vec<String>> {
        rpc::unknown_members(line, |message| Self::of(message).known_params())
    }

    /// Returns what is known of the parameters.
    fn known_params(&self) -> Option<Known> {
        Some(match self {
            Self::Open(_, _, request) | Self::Prompt(_, request) => known_of(request),
            Self::Set(_, request) => known_of(request),
            Self::Cancel(_) => Known::Members(vec![("sessionId", Known::Value)]),
            Self::CancelRequest(_) => request_id(),
            Self::Initialize(_) | Self::Other(_) => return None,
        })
    }
}

impl Update<'_> {
    /// Returns what is known of the update.
    fn known(&self) -> Option<Known> {
        let mut members = match self {
            Self::UserMessage(chunk) | Self::AgentMessage(chunk) | Self::AgentThought(chunk) => {
                members_of(chunk)
            }
            Self::ToolCall(call) | Self::ToolCallUpdate(call) => members_of(&**call),
            Self::Plan(entries) => vec![("entries", known_elements(entries))],
            Self::Commands(commands) => vec![("availableCommands", known_elements(commands))],
            Self::Mode(_) => vec![("currentModeId", Known::Value)],
            Self::ConfigOptions(_) => {
                vec![("configOptions", Known::List(ConfigOption::known_members))]
            }
            Self::SessionInfo(info) => members_of(info),
            Self::Usage(usage) => members_of(usage),
            Self::Notice(notice) => members_of(notice),
            Self::Compaction(compaction) => members_of(compaction),
            Self::Subagent(subagent) => members_of(&**subagent),
            Self::SessionMessage(message) => members_of(&**message),
            Self::Unknown { .. } => return None,
        };
        members.push(("sessionUpdate", Known::Value));
        Some(Known::Members(members))
    }
}

/// Returns what is known of a list of such elements.
fn known_elements<'a, R: Record<'a>>(_: &[R]) -> Known {
    Known::List(R::known_members)
}

fn request_id() -> Known {
    Known::Members(vec![("requestId", Known::Value)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(update: &str) -> Option<Vec<String>> {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#
        );
        AgentMessage::unknown_members(RawJson::parse(&line).expect("JSON"))
    }

    #[test]
    fn members_are_those_of_the_update() {
        let updates = [
            (
                r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"","new":1},"new":2}"#,
                &["/params/update/content/new", "/params/update/new"][..],
            ),
            (
                r#"{"sessionUpdate":"tool_call","content":[{"type":"content","content":{"type":"text","new":1}}],"locations":[{"path":"/","new":2}]}"#,
                &[
                    "/params/update/content/0/content/new",
                    "/params/update/locations/0/new",
                ],
            ),
            (
                r#"{"sessionUpdate":"tool_call_update","rawInput":{"any":1},"_meta":{"claudeCode":{"toolName":"a","new":1}}}"#,
                &["/params/update/_meta/claudeCode/new"],
            ),
            (
                r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"a","new":1}]}"#,
                &["/params/update/availableCommands/0/new"],
            ),
            (
                r#"{"sessionUpdate":"current_mode_update","currentModeId":"a","new":1}"#,
                &["/params/update/new"],
            ),
            (
                r#"{"sessionUpdate":"config_option_update","configOptions":[{"id":"a","new":1}]}"#,
                &["/params/update/configOptions/0/new"],
            ),
            (
                r#"{"sessionUpdate":"usage_update","used":1,"cost":{"amount":1,"new":1}}"#,
                &["/params/update/cost/new"],
            ),
        ];
        for (line, expected) in updates {
            assert_eq!(update(line).expect("a known update"), expected, "{line}");
        }
    }

    #[test]
    fn whole_lines_have_no_unknown_members() {
        assert_eq!(update(r#"{"sessionUpdate":"novelty","new":1}"#), None);
        for line in [
            r#"{"id":1,"result":{"new":1}}"#,
            r#"{"id":1,"method":"novelty","params":{"new":1}}"#,
            r#"{"id":1,"method":"initialize","params":{"new":1}}"#,
        ] {
            let line = RawJson::parse(line).expect("JSON");
            assert_eq!(AgentMessage::unknown_members(line), None);
            assert_eq!(HostMessage::unknown_members(line), None);
        }
    }

    #[test]
    fn requests_have_members_of_their_own() {
        let line = r#"{"id":1,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c","new":1},"options":[{"optionId":"o","new":2}]}}"#;
        let line = RawJson::parse(line).expect("JSON");
        let expected = ["/params/toolCall/new", "/params/options/0/new"];
        assert_eq!(
            AgentMessage::unknown_members(line).expect("known"),
            expected
        );
        let line = r#"{"id":1,"method":"session/prompt","params":{"prompt":[{"type":"text","new":1}],"new":2}}"#;
        let line = RawJson::parse(line).expect("JSON");
        let expected = ["/params/prompt/0/new", "/params/new"];
        assert_eq!(HostMessage::unknown_members(line).expect("known"), expected);
    }
}
