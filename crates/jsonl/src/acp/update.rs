//! Updates of a session (PROTOCOL-acp.md, Updates).

use crate::grammar::{Cursor, Field, ParsedAt, index, record};
use crate::raw::{RawJson, raw_value};
use crate::text::Str;

record! {
    /// The parameters of `session/update`.
    pub SessionUpdate<'a> {
        /// The session, or a sub-agent's.
        session_id: Option<Str<'a>> = "sessionId",
        /// The update; [`SessionUpdate::update`] parses it.
        update: Option<RawJson<'a>> = "update",
    }
}

record! {
    Kind<'a> {
        kind: Option<Str<'a>> = "sessionUpdate",
    }
}

/// One update, by its `sessionUpdate`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Update<'a> {
    /// `user_message_chunk`: a part of a prompt, written when a conversation is loaded.
    UserMessage(Chunk<'a>),
    /// `agent_message_chunk`: a part of the agent's text.
    AgentMessage(Chunk<'a>),
    /// `agent_thought_chunk`: a part of the agent's thoughts.
    AgentThought(Chunk<'a>),
    /// `tool_call`: usually the first update of a tool call.
    ToolCall(Box<ToolCall<'a>>),
    /// `tool_call_update`: changes of a tool call; a list that is present replaces the earlier one.
    ToolCallUpdate(Box<ToolCall<'a>>),
    /// `plan`: replaces the plan by these [`PlanEntry`]s.
    Plan(Vec<PlanEntry<'a>>),
    /// `available_commands_update`: replaces the commands.
    Commands(Vec<Command<'a>>),
    /// `current_mode_update`
    Mode(Option<Str<'a>>),
    /// `config_option_update`: replaces the options, an array that
    /// [`ConfigOption::list`](crate::acp::ConfigOption::list) reads.
    ConfigOptions(Option<RawJson<'a>>),
    /// `session_info_update`
    SessionInfo(SessionInfo<'a>),
    /// `usage_update`
    Usage(UsageUpdate<'a>),
    /// `notice`
    Notice(Notice<'a>),
    /// `compaction_update` and `compaction_summary_chunk`
    Compaction(Compaction<'a>),
    /// `subagent_update`
    Subagent(Box<Subagent<'a>>),
    /// `session_message`, `session_message_chunk`: between a session and its sub-agent's.
    SessionMessage(Box<SessionMessage<'a>>),
    /// Any other; [`SessionUpdate::update`] is its text.
    Unknown {
        /// Its `sessionUpdate`.
        kind: Option<Str<'a>>,
    },
}

impl<'a> SessionUpdate<'a> {
    /// Parses the update.
    #[must_use]
    pub fn update(&self) -> Update<'a> {
        let Some(update) = self.update else {
            return Update::Unknown { kind: None };
        };
        let kind = update.parse_as::<Kind<'_>>().kind;
        match kind.map(Str::decode).as_deref() {
            Some("agent_message_chunk") => Update::AgentMessage(update.parse_as()),
            Some("agent_thought_chunk") => Update::AgentThought(update.parse_as()),
            Some("user_message_chunk") => Update::UserMessage(update.parse_as()),
            Some("tool_call") => Update::ToolCall(Box::new(update.parse_as())),
            Some("tool_call_update") => Update::ToolCallUpdate(Box::new(update.parse_as())),
            Some("plan") => Update::Plan(list(update, "entries")),
            Some("available_commands_update") => {
                Update::Commands(list(update, "availableCommands"))
            }
            Some("current_mode_update") => {
                Update::Mode(update.get("currentModeId").and_then(RawJson::as_str))
            }
            Some("config_option_update") => Update::ConfigOptions(update.get("configOptions")),
            Some("session_info_update") => Update::SessionInfo(update.parse_as()),
            Some("usage_update") => Update::Usage(update.parse_as()),
            Some("notice") => Update::Notice(update.parse_as()),
            Some("compaction_update" | "compaction_summary_chunk") => {
                Update::Compaction(update.parse_as())
            }
            Some("subagent_update") => Update::Subagent(Box::new(update.parse_as())),
            Some("session_message" | "session_message_chunk") => {
                Update::SessionMessage(Box::new(update.parse_as()))
            }
            _ => Update::Unknown { kind },
        }
    }
}

fn list<'a, T: Field<'a> + Default>(value: RawJson<'a>, key: &str) -> Vec<T> {
    let list = value.get(key);
    list.into_iter().flat_map(RawJson::list_of).collect()
}

record! {
    /// A part of a message.
    pub Chunk<'a> {
        /// The part.
        content: ContentBlock<'a> = "content",
        /// The message; some agents leave it out.
        message_id: Option<Str<'a>> = "messageId",
        /// Extensions of agents.
        meta: Option<RawJson<'a>> = "_meta",
    }
}

record! {
    /// A part of a prompt, a message or a tool's result.
    pub ContentBlock<'a> {
        /// `text`, `image`, `audio`, `resource_link` or `resource`.
        kind: Option<Str<'a>> = "type",
        /// The text of `text`.
        text: Option<Str<'a>> = "text",
        /// The bytes of `image` and `audio` in base64.
        data: Option<Str<'a>> = "data",
        /// The media type of `image`, `audio` and `resource_link`.
        mime_type: Option<Str<'a>> = "mimeType",
        /// Where the content is.
        uri: Option<Str<'a>> = "uri",
        /// The name of a `resource_link`.
        name: Option<Str<'a>> = "name",
        /// The content of `resource`.
        resource: Option<Box<Resource<'a>>> = "resource",
    }
}

record! {
    /// A resource in a message.
    pub Resource<'a> {
        /// Where it was found.
        uri: Option<Str<'a>> = "uri",
        /// Its text.
        text: Option<Str<'a>> = "text",
        /// Its bytes in base64.
        blob: Option<Str<'a>> = "blob",
        /// Its media type.
        mime_type: Option<Str<'a>> = "mimeType",
    }
}

record! {
    /// A tool call, or changes of one: a member that is absent keeps its value.
    pub ToolCall<'a> {
        /// Unique in its session.
        tool_call_id: Option<Str<'a>> = "toolCallId",
        /// A sentence for people.
        title: Option<Str<'a>> = "title",
        /// The tool.
        name: Option<Str<'a>> = "name",
        /// `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode` or `other`.
        kind: Option<Str<'a>> = "kind",
        /// `pending`, `in_progress`, `completed` or `failed`.
        status: Option<Str<'a>> = "status",
        /// An array that [`ToolCall::content`] reads.
        content: Option<RawJson<'a>> = "content" [ToolContent<'a>],
        /// An array that [`ToolCall::locations`] reads.
        locations: Option<RawJson<'a>> = "locations" [Location<'a>],
        /// The arguments.
        raw_input: Option<RawJson<'a>> = "rawInput",
        /// The result.
        raw_output: Option<RawJson<'a>> = "rawOutput",
        /// Extensions of agents.
        meta: Meta<'a> = "_meta",
    }
}

impl<'a> ToolCall<'a> {
    /// Returns the content, if the update has one.
    #[must_use]
    pub fn content(&self) -> Option<impl Iterator<Item = ToolContent<'a>>> {
        self.content.map(RawJson::list_of)
    }

    /// Returns the files that the call is about, if the update has them.
    #[must_use]
    pub fn locations(&self) -> Option<impl Iterator<Item = Location<'a>>> {
        self.locations.map(RawJson::list_of)
    }
}

record! {
    /// One item of a tool call's content.
    pub ToolContent<'a> {
        /// `content`, `diff` or `terminal`.
        kind: Option<Str<'a>> = "type",
        /// The block of `content`.
        content: ContentBlock<'a> = "content",
        /// The file of a `diff`.
        path: Option<Str<'a>> = "path",
        /// Its text before; none for a new file.
        old_text: Option<Str<'a>> = "oldText",
        /// Its text after.
        new_text: Option<Str<'a>> = "newText",
        /// The terminal of `terminal`.
        terminal_id: Option<Str<'a>> = "terminalId",
    }
}

record! {
    /// A place in a file.
    pub Location<'a> {
        /// The file.
        path: Option<Str<'a>> = "path",
        /// A line, from 1.
        line: Option<u64> = "line",
    }
}

record! {
    /// Extensions that agents add to a tool call (PROTOCOL-acp.md, Extensions).
    pub Meta<'a> {
        /// What Claude Code says beside the protocol.
        claude: ClaudeMeta<'a> = "claudeCode",
        /// Output of the call's terminal, to append.
        terminal_output: TerminalOutput<'a> = "terminal_output_delta",
        /// The end of the call's terminal.
        terminal_exit: TerminalExit<'a> = "terminal_exit",
    }
}

record! {
    /// The extension of claude-agent-acp.
    pub ClaudeMeta<'a> {
        /// The tool.
        tool_name: Option<Str<'a>> = "toolName",
        /// The structured result.
        tool_response: Option<RawJson<'a>> = "toolResponse",
        /// The call whose sub-agent this belongs to.
        parent_tool_use_id: Option<Str<'a>> = "parentToolUseId",
    }
}

record! {
    /// Output of a terminal.
    pub TerminalOutput<'a> {
        /// Text to append.
        data: Option<Str<'a>> = "data",
    }
}

record! {
    /// The end of a terminal's command.
    pub TerminalExit<'a> {
        /// The status, unless a signal ended it.
        exit_code: Option<i64> = "exit_code",
        /// The signal.
        signal: Option<Str<'a>> = "signal",
    }
}

record! {
    /// One step of a plan.
    pub PlanEntry<'a> {
        /// What is to be done.
        content: Option<Str<'a>> = "content",
        /// `high`, `medium` or `low`.
        priority: Option<Str<'a>> = "priority",
        /// `pending`, `in_progress` or `completed`.
        status: Option<Str<'a>> = "status",
    }
}

record! {
    /// A slash command.
    pub Command<'a> {
        /// Without the slash.
        name: Option<Str<'a>> = "name",
        /// One sentence.
        description: Option<Str<'a>> = "description",
    }
}

record! {
    /// Changes of a session's title and time.
    pub SessionInfo<'a> {
        /// The title.
        title: Patch<Str<'a>> = "title",
        /// RFC 3339.
        updated_at: Patch<Str<'a>> = "updatedAt",
    }
}

record! {
    /// The context window and the cost so far.
    pub UsageUpdate<'a> {
        /// Tokens in use.
        used: Option<u64> = "used",
        /// Tokens that fit.
        size: Option<u64> = "size",
        /// Cost of the session.
        cost: Cost<'a> = "cost",
    }
}

record! {
    /// An amount of money.
    pub Cost<'a> {
        /// In units of the currency.
        amount: Option<f64> = "amount",
        /// ISO 4217.
        currency: Option<Str<'a>> = "currency",
    }
}

record! {
    /// A message of the agent about itself.
    pub Notice<'a> {
        /// `info`, `warning` or `error`.
        severity: Option<Str<'a>> = "severity",
        /// One line.
        title: Option<Str<'a>> = "title",
        /// More.
        description: Option<Str<'a>> = "description",
    }
}

record! {
    /// The compaction of a conversation.
    pub Compaction<'a> {
        /// One compaction.
        compaction_id: Option<Str<'a>> = "compactionId",
        /// `in_progress`, `completed`, `failed` or `cancelled`.
        status: Option<Str<'a>> = "status",
        /// What is left of the conversation.
        summary: Option<Str<'a>> = "summary",
        /// Why it failed.
        error: Option<Str<'a>> = "error",
    }
}

record! {
    /// A sub-agent's session, announced on its parent's.
    pub Subagent<'a> {
        /// The sub-agent's session.
        session_id: Option<Str<'a>> = "sessionId",
        /// Its task.
        title: Option<Str<'a>> = "title",
        /// More, such as the kind of sub-agent.
        description: Option<Str<'a>> = "description",
        /// What it does.
        state: SubagentState<'a> = "state",
    }
}

record! {
    /// What a sub-agent does.
    pub SubagentState<'a> {
        /// `running`, `requires_action` or `idle`.
        state: Option<Str<'a>> = "state",
        /// Why it is idle, as for a prompt.
        stop_reason: Option<Str<'a>> = "stopReason",
    }
}

record! {
    /// A message between a session and its sub-agent's.
    pub SessionMessage<'a> {
        /// The message; the same one stands in both sessions.
        message_id: Option<Str<'a>> = "messageId",
        /// The session that sent it.
        sender: Option<Str<'a>> = "senderSessionId",
        /// The session that receives it.
        recipient: Option<Str<'a>> = "recipientSessionId",
        /// A block, or an array of blocks.
        content: Option<RawJson<'a>> = "content",
    }
}

impl<'a> SessionMessage<'a> {
    /// Returns the blocks of the message.
    pub fn content(&self) -> impl Iterator<Item = ContentBlock<'a>> {
        let list = self.content.into_iter().flat_map(RawJson::list_of);
        let block = self
            .content
            .filter(|content| content.kind() == crate::JsonKind::Object);
        list.chain(block.map(RawJson::parse_as))
    }
}

/// A member of which absent, `null` and a value are three different things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Absent: the value stays.
    #[default]
    Keep,
    /// `null`: there is none any more.
    Clear,
    /// A new value.
    Set(T),
}

impl<'a> Field<'a> for Patch<Str<'a>> {
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let (end, value) = index(raw_value(Cursor::at_index(text, at)))?;
        *self = value.as_str().map_or(Self::Clear, Self::Set);
        Ok((end, ()))
    }
}
