//! Results of the host's requests (PROTOCOL-acp.md, Methods).

use crate::grammar::record;
use crate::raw::{JsonKind, RawJson};
use crate::text::Str;

macro_rules! results {
    ($($name:ident)*) => { $(
        impl<'a> $name<'a> {
            /// Reads the result of a response.
            #[must_use]
            pub fn parse(result: RawJson<'a>) -> Self {
                result.parse_as()
            }
        }
    )* };
}

results!(Initialized Opened PromptResult SessionList);

record! {
    /// The result of `initialize`.
    pub Initialized<'a> {
        /// The version that the agent speaks.
        protocol_version: Option<u64> = "protocolVersion",
        /// What the agent can do.
        capabilities: AgentCapabilities = "agentCapabilities",
        /// The agent.
        agent_info: AgentInfo<'a> = "agentInfo",
        /// Ways to log in, an array.
        auth_methods: Option<RawJson<'a>> = "authMethods",
    }
}

record! {
    /// The name of an agent.
    pub AgentInfo<'a> {
        /// For programs.
        name: Option<Str<'a>> = "name",
        /// For people.
        title: Option<Str<'a>> = "title",
        /// Its version.
        version: Option<Str<'a>> = "version",
    }
}

record! {
    /// What an agent can do.
    pub AgentCapabilities {
        /// Whether `session/load` exists.
        load_session: bool = "loadSession",
        /// What a prompt may hold.
        prompt: PromptCapabilities = "promptCapabilities",
        /// Which MCP servers it connects to, beside those that it starts.
        mcp: McpCapabilities = "mcpCapabilities",
        /// Methods about sessions.
        session: SessionCapabilities = "sessionCapabilities",
    }
}

record! {
    /// What a prompt may hold beside text and links.
    pub PromptCapabilities {
        /// Images.
        image: bool = "image",
        /// Sound.
        audio: bool = "audio",
        /// Resources.
        embedded_context: bool = "embeddedContext",
    }
}

record! {
    /// Transports of MCP servers that an agent does not start.
    pub McpCapabilities {
        /// Streamable HTTP.
        http: bool = "http",
        /// HTTP with server-sent events.
        sse: bool = "sse",
    }
}

/// Methods about sessions that an agent has; an object, even an empty one, declares each.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionCapabilities {
    /// `session/list`
    pub list: bool,
    /// `session/resume`
    pub resume: bool,
    /// `session/fork`
    pub fork: bool,
    /// `session/close`
    pub close: bool,
    /// `session/delete`
    pub delete: bool,
}

impl<'a> crate::grammar::Record<'a> for SessionCapabilities {
    fn common_members(
        &mut self,
        input: crate::grammar::Cursor<'a>,
    ) -> crate::grammar::Parsed<'a, crate::grammar::Next> {
        Ok((input, crate::grammar::Next::Item))
    }

    fn member(
        &mut self,
        key: &str,
        value: crate::grammar::Cursor<'a>,
    ) -> crate::grammar::Parsed<'a> {
        let declared = value.first() == b'{';
        match key {
            "list" => self.list = declared,
            "resume" => self.resume = declared,
            "fork" => self.fork = declared,
            "close" => self.close = declared,
            "delete" => self.delete = declared,
            _ => {}
        }
        crate::grammar::skip(value)
    }
}

record! {
    /// The result of `session/new`, `session/load`, `session/resume` and `session/fork`.
    pub Opened<'a> {
        /// The new session; `session/load` and `session/resume` may leave it out.
        session_id: Option<Str<'a>> = "sessionId",
        /// The modes.
        modes: Modes<'a> = "modes",
        /// The models, in the form of older agents: `currentModelId`, `availableModels`.
        models: Option<RawJson<'a>> = "models",
        /// An array that [`ConfigOption::list`] reads; `session/set_config_option` answers with it too.
        config_options: Option<RawJson<'a>> = "configOptions",
    }
}

record! {
    /// The modes of a session.
    pub Modes<'a> {
        /// The mode in force.
        current_mode_id: Option<Str<'a>> = "currentModeId",
        /// An array that [`Modes::available`] reads.
        available_modes: Option<RawJson<'a>> = "availableModes",
    }
}

impl<'a> Modes<'a> {
    /// Returns the modes.
    pub fn available(&self) -> impl Iterator<Item = Mode<'a>> {
        self.available_modes.into_iter().flat_map(RawJson::list_of)
    }
}

record! {
    /// A mode, a model, or a way to log in.
    pub Mode<'a> {
        /// Its id as a mode.
        id: Option<Str<'a>> = "id",
        /// Its id as a model.
        model_id: Option<Str<'a>> = "modelId",
        /// Its label.
        name: Option<Str<'a>> = "name",
        /// What it is, or what to do for it.
        description: Option<Str<'a>> = "description",
    }
}

impl<'a> Mode<'a> {
    /// Reads an array of modes, models or ways to log in.
    pub fn list(list: RawJson<'a>) -> impl Iterator<Item = Self> {
        list.list_of()
    }
}

record! {
    /// An option of a session.
    pub ConfigOption<'a> {
        /// Its id.
        id: Option<Str<'a>> = "id",
        /// Its label.
        name: Option<Str<'a>> = "name",
        /// `mode`, `model`, `model_config`, `thought_level`, …
        category: Option<Str<'a>> = "category",
        /// `select` or `boolean`.
        kind: Option<Str<'a>> = "type",
        /// A choice's value, or a bool.
        current_value: Option<RawJson<'a>> = "currentValue",
        /// Choices or groups of choices, an array that [`ConfigOption::choices`] reads.
        options: Option<RawJson<'a>> = "options",
    }
}

record! {
    /// A value of an option.
    pub ConfigChoice<'a> {
        /// The value.
        value: Option<Str<'a>> = "value",
        /// Its label.
        name: Option<Str<'a>> = "name",
    }
}

impl<'a> ConfigOption<'a> {
    /// Reads an array of options.
    pub fn list(list: RawJson<'a>) -> impl Iterator<Item = Self> {
        list.list_of()
    }

    /// Returns the choices, those of groups in their order.
    pub fn choices(&self) -> impl Iterator<Item = ConfigChoice<'a>> {
        let entries = self.options.into_iter().flat_map(RawJson::elements);
        entries.flat_map(|entry| match entry.get("options") {
            Some(group) if group.kind() == JsonKind::Array => group.list_of().collect(),
            _ => vec![entry.parse_as()],
        })
    }
}

record! {
    /// The result of `session/prompt`: the end of the turn.
    pub PromptResult<'a> {
        /// `end_turn`, `max_tokens`, `max_turn_requests`, `refusal` or `cancelled`.
        stop_reason: Option<Str<'a>> = "stopReason",
        /// Tokens of the turn.
        usage: Option<Box<PromptUsage>> = "usage",
        /// Extensions of agents.
        meta: Option<RawJson<'a>> = "_meta",
    }
}

record! {
    /// Tokens of a turn.
    pub PromptUsage {
        /// Of the prompt.
        input_tokens: Option<u64> = "inputTokens",
        /// Of the answer.
        output_tokens: Option<u64> = "outputTokens",
        /// Read from the cache.
        cached_read_tokens: Option<u64> = "cachedReadTokens",
        /// Written to the cache.
        cached_write_tokens: Option<u64> = "cachedWriteTokens",
        /// Of thoughts.
        thought_tokens: Option<u64> = "thoughtTokens",
        /// All of them.
        total_tokens: Option<u64> = "totalTokens",
    }
}

record! {
    /// The result of `session/list`.
    pub SessionList<'a> {
        /// An array that [`SessionList::sessions`] reads.
        sessions: Option<RawJson<'a>> = "sessions",
        /// Where the next page begins.
        next_cursor: Option<Str<'a>> = "nextCursor",
    }
}

impl<'a> SessionList<'a> {
    /// Returns the sessions of this page.
    pub fn sessions(&self) -> impl Iterator<Item = ListedSession<'a>> {
        self.sessions.into_iter().flat_map(RawJson::list_of)
    }
}

record! {
    /// A past session.
    pub ListedSession<'a> {
        /// Its id.
        session_id: Option<Str<'a>> = "sessionId",
        /// Its working directory.
        cwd: Option<Str<'a>> = "cwd",
        /// Its title.
        title: Option<Str<'a>> = "title",
        /// RFC 3339.
        updated_at: Option<Str<'a>> = "updatedAt",
    }
}
