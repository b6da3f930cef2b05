//! Members of lines that the parser does not know.

use bowline_jsonl::acp::{AgentMessage, HostMessage};
use bowline_jsonl::codex::{ClientMessage, ServerMessage};
use bowline_jsonl::{DEFAULT_MAX_LINE, Event, Framer, unknown_input_members};
use bowline_reducer::dialect::{DialectName, unknown_members};
use bytes::Bytes;
use serde::Serialize;
use utoipa::ToSchema;

/// A line with members that this version does not read.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = UnknownMembersOfLine)]
pub(crate) struct UnknownMembers {
    /// Offset of the line.
    offset: u64,
    /// The members, as JSON pointers (RFC 6901).
    members: Vec<String>,
}

/// Lines with members that this version does not read.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = UnknownMembersPage)]
pub(crate) struct CheckedMembers {
    /// Whether this version lists the members of the protocol; if not, no line is checked.
    is_checked: bool,
    /// Number of lines whose members are not checked, since this version keeps a message of their type, or the result
    /// of a request, as a whole.
    kept_whole: u64,
    /// The lines that have some, in order.
    lines: Vec<UnknownMembers>,
}

/// Finds members that are not known in lines of one protocol and direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberCheck(
    /// Returns the members of a line; `None` if it is kept as a whole.
    fn(&Event<'_>) -> Option<Vec<String>>,
);

impl MemberCheck {
    /// Returns the check for the output or the input of an agent; `None` if this version does not list the members of
    /// such lines.
    ///
    /// The dialects that are only for reading have no input. The input of Claude Code is not read either, but written: its
    /// members are those of the protocol.
    pub(crate) fn of(dialect: DialectName, is_input: bool) -> Option<Self> {
        Some(Self(match (dialect, is_input) {
            (DialectName::Claude | DialectName::Qwen, false) => {
                |event| event.is_known().then(|| event.unknown_members())
            }
            (DialectName::Claude | DialectName::Qwen, true) => {
                |event| unknown_input_members(event.raw)
            }
            (DialectName::Codex, false) => |event| ServerMessage::unknown_members(event.raw),
            (DialectName::Codex, true) => |event| ClientMessage::unknown_members(event.raw),
            (DialectName::Acp, false) => |event| AgentMessage::unknown_members(event.raw),
            (DialectName::Acp, true) => |event| HostMessage::unknown_members(event.raw),
            (DialectName::GeminiStreamJson, false) => {
                |event| unknown_members(DialectName::GeminiStreamJson, event.raw)
            }
            (DialectName::CodexExec, false) => {
                |event| unknown_members(DialectName::CodexExec, event.raw)
            }
            (DialectName::CopilotJson, false) => {
                |event| unknown_members(DialectName::CopilotJson, event.raw)
            }
            (DialectName::OpencodeRunJson, false) => {
                |event| unknown_members(DialectName::OpencodeRunJson, event.raw)
            }
            _ => return None,
        }))
    }
}

impl CheckedMembers {
    /// Checks the lines of parts of a stream, each with the offset at which it begins. What is no event is left out.
    pub(crate) fn find(check: MemberCheck, parts: impl IntoIterator<Item = (u64, Bytes)>) -> Self {
        let mut found = Self {
            is_checked: true,
            ..Self::default()
        };
        for (offset, bytes) in parts {
            found.push(check, offset, bytes);
        }
        found
    }

    fn push(&mut self, check: MemberCheck, offset: u64, bytes: Bytes) {
        let mut framer = Framer::at(DEFAULT_MAX_LINE, offset, 1);
        framer.push(bytes);
        framer.finish();
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                let Ok(event) = &item.event else { continue };
                match (check.0)(event) {
                    None => self.kept_whole += 1,
                    Some(members) if members.is_empty() => {}
                    Some(members) => {
                        let offset = item.at.offset;
                        self.lines.push(UnknownMembers { offset, members });
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(dialect: DialectName, is_input: bool, offset: u64, bytes: String) -> CheckedMembers {
        let check = MemberCheck::of(dialect, is_input).expect("a check");
        CheckedMembers::find(check, [(offset, Bytes::from(bytes))])
    }

    fn line(offset: usize, member: &str) -> UnknownMembers {
        UnknownMembers {
            offset: offset as u64,
            members: vec![member.to_owned()],
        }
    }

    #[test]
    fn lines_with_unknown_members_have_their_offsets() {
        let plain = "{\"type\":\"keep_alive\"}\n";
        let odd = "{\"type\":\"keep_alive\",\"new\":{\"a\":1}}\n";
        let whole = "{\"type\":\"novelty\",\"new\":1}\n";
        let output = [plain, odd, "not JSON\n", whole, odd, "{\"type\":"].concat();
        let second = 100 + plain.len() + odd.len() + "not JSON\n".len() + whole.len();
        let expected = CheckedMembers {
            is_checked: true,
            kept_whole: 1,
            lines: vec![line(100 + plain.len(), "/new"), line(second, "/new")],
        };
        assert_eq!(find(DialectName::Claude, false, 100, output), expected);
    }

    #[test]
    fn each_direction_of_a_protocol_has_its_members() {
        let update = "{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"plan\",\"new\":1}}}\n";
        let prompt =
            "{\"id\":1,\"method\":\"session/prompt\",\"params\":{\"prompt\":[],\"new\":1}}\n";
        let turn = "{\"method\":\"turn/started\",\"params\":{\"turn\":{\"new\":1}}}\n";
        let start = "{\"id\":1,\"method\":\"turn/start\",\"params\":{\"new\":1}}\n";
        let whole = "{\"type\":\"novelty\",\"new\":1}\n";
        let interrupt =
            "{\"type\":\"control_request\",\"request\":{\"subtype\":\"interrupt\",\"new\":1}}\n";
        let gemini = "{\"type\":\"result\",\"stats\":{\"duration_ms\":1,\"new\":1}}\n";
        let exec = "{\"type\":\"item.completed\",\"item\":{\"type\":\"reasoning\",\"new\":1}}\n";
        let copilot = "{\"type\":\"user.message\",\"data\":{\"content\":\"\",\"new\":1}}\n";
        let opencode = "{\"type\":\"text\",\"part\":{\"text\":\"\",\"new\":1}}\n";
        for (dialect, is_input, text, member) in [
            (
                DialectName::Acp,
                false,
                [prompt, update],
                "/params/update/new",
            ),
            (DialectName::Acp, true, [update, prompt], "/params/new"),
            (DialectName::Codex, false, [start, turn], "/params/turn/new"),
            (DialectName::Codex, true, [turn, start], "/params/new"),
            (
                DialectName::Claude,
                true,
                [whole, interrupt],
                "/request/new",
            ),
            (DialectName::Qwen, true, [whole, interrupt], "/request/new"),
            (
                DialectName::GeminiStreamJson,
                false,
                [whole, gemini],
                "/stats/new",
            ),
            (DialectName::CodexExec, false, [whole, exec], "/item/new"),
            (
                DialectName::CopilotJson,
                false,
                [whole, copilot],
                "/data/new",
            ),
            (
                DialectName::OpencodeRunJson,
                false,
                [whole, opencode],
                "/part/new",
            ),
        ] {
            let expected = CheckedMembers {
                is_checked: true,
                kept_whole: 1,
                lines: vec![line(text[0].len(), member)],
            };
            let found = find(dialect, is_input, 0, text.concat());
            assert_eq!(found, expected, "{dialect:?} {is_input}");
        }
    }
}
