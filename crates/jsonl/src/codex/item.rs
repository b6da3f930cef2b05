//! Items: the parts of a turn (PROTOCOL-codex.md, Items).

use crate::codex::client::UserInput;
use crate::grammar::record;
use crate::raw::RawJson;
use crate::text::Str;

record! {
    /// One item of a turn. Its `type` decides which members it has.
    pub Item<'a> {
        /// `userMessage`, `agentMessage`, `reasoning`, `commandExecution`, `fileChange`, …
        kind: Option<Str<'a>> = "type",
        /// Unique in its thread.
        id: Option<Str<'a>> = "id",
        /// `userMessage`: what the host called its prompt.
        client_id: Option<Str<'a>> = "clientId",
        /// `userMessage`: an array of [`UserInput`]s; `reasoning`: an array of strings.
        content: Option<RawJson<'a>> = "content" [UserInput<'a>],
        /// `agentMessage`, `plan`: the text.
        text: Option<Str<'a>> = "text",
        /// `reasoning`: an array of strings.
        summary: Option<RawJson<'a>> = "summary",
        /// `commandExecution`: the command line.
        command: Option<Str<'a>> = "command",
        /// `commandExecution`: its working directory.
        cwd: Option<Str<'a>> = "cwd",
        /// `inProgress`, `completed`, `failed` or `declined`.
        status: Option<Str<'a>> = "status",
        /// `commandExecution`: an array that [`Item::command_actions`] reads.
        command_actions: Option<RawJson<'a>> = "commandActions" [CommandAction<'a>],
        /// `commandExecution`: all of its output.
        aggregated_output: Option<Str<'a>> = "aggregatedOutput",
        /// `commandExecution`: its exit status.
        exit_code: Option<i64> = "exitCode",
        /// `fileChange`: an array that [`Item::changes`] reads.
        changes: Option<RawJson<'a>> = "changes" [FileChange<'a>],
        /// `mcpToolCall`: the server.
        server: Option<Str<'a>> = "server",
        /// `mcpToolCall`, `dynamicToolCall`, `collabAgentToolCall`: the tool.
        tool: Option<Str<'a>> = "tool",
        /// `mcpToolCall`, `dynamicToolCall`: the arguments.
        arguments: Option<RawJson<'a>> = "arguments",
        /// `mcpToolCall`: the result.
        result: Option<RawJson<'a>> = "result",
        /// `mcpToolCall`: why it failed.
        error: Option<RawJson<'a>> = "error",
        /// `collabAgentToolCall`: the threads of sub-agents, an array of strings.
        receiver_thread_ids: Option<RawJson<'a>> = "receiverThreadIds",
        /// `collabAgentToolCall`: what the sub-agent is to do.
        prompt: Option<Str<'a>> = "prompt",
        /// `collabAgentToolCall`: an object that [`Item::agents_states`] reads.
        agents_states: Option<RawJson<'a>> = "agentsStates",
        /// `webSearch`: what is searched for.
        query: Option<Str<'a>> = "query",
        /// `imageView`: the file.
        path: Option<Str<'a>> = "path",
        /// Its begin, in milliseconds since the Unix epoch.
        started_at_ms: Option<u64> = "startedAtMs",
        /// Its end, in milliseconds since the Unix epoch.
        completed_at_ms: Option<u64> = "completedAtMs",
    }
}

impl<'a> Item<'a> {
    /// Reads an item, such as one of a resumed thread.
    #[must_use]
    pub fn parse(item: RawJson<'a>) -> Self {
        item.parse_as()
    }

    /// Returns the parts of a `userMessage`.
    pub fn input(&self) -> impl Iterator<Item = UserInput<'a>> {
        self.content.into_iter().flat_map(RawJson::list_of)
    }

    /// Returns the paragraphs of a `reasoning`: its summary, or its content if it has no summary.
    pub fn paragraphs(&self) -> impl Iterator<Item = Str<'a>> {
        let strings = |list: Option<RawJson<'a>>| {
            let elements = list.into_iter().flat_map(RawJson::elements);
            elements.filter_map(RawJson::as_str).collect::<Vec<_>>()
        };
        let summary = strings(self.summary);
        let list = if summary.is_empty() {
            strings(self.content)
        } else {
            summary
        };
        list.into_iter()
    }

    /// Returns what a command does, as far as Codex recognizes it.
    pub fn command_actions(&self) -> impl Iterator<Item = CommandAction<'a>> {
        self.command_actions.into_iter().flat_map(RawJson::list_of)
    }

    /// Returns the changes of a `fileChange`.
    pub fn changes(&self) -> impl Iterator<Item = FileChange<'a>> {
        self.changes.into_iter().flat_map(RawJson::list_of)
    }

    /// Returns the threads of a `collabAgentToolCall`.
    pub fn receiver_thread_ids(&self) -> impl Iterator<Item = Str<'a>> {
        let threads = self.receiver_thread_ids.into_iter();
        threads
            .flat_map(RawJson::elements)
            .filter_map(RawJson::as_str)
    }

    /// Returns the states of a `collabAgentToolCall`'s threads, by thread.
    pub fn agents_states(&self) -> impl Iterator<Item = (Str<'a>, AgentState<'a>)> {
        let states = self.agents_states.into_iter().flat_map(RawJson::members);
        states.map(|(thread, state)| (thread, state.parse_as()))
    }
}

record! {
    /// What a command does.
    pub CommandAction<'a> {
        /// `read`, `listFiles`, `search` or `unknown`.
        kind: Option<Str<'a>> = "type",
        /// This part of the command line.
        command: Option<Str<'a>> = "command",
        /// The file of `read`, the directory of others.
        path: Option<Str<'a>> = "path",
    }
}

record! {
    /// The change of one file.
    pub FileChange<'a> {
        /// The file.
        path: Option<Str<'a>> = "path",
        /// What happens to it.
        kind: FileChangeKind<'a> = "kind",
        /// The new content of an `add`, a unified diff of an `update`.
        diff: Option<Str<'a>> = "diff",
    }
}

impl<'a> FileChange<'a> {
    /// Reads an array of changes.
    pub fn list(changes: RawJson<'a>) -> impl Iterator<Item = Self> {
        changes.list_of()
    }
}

record! {
    /// What happens to a file.
    pub FileChangeKind<'a> {
        /// `add`, `delete` or `update`.
        kind: Option<Str<'a>> = "type",
        /// Its new path, for an `update` that moves it.
        move_path: Option<Str<'a>> = "move_path",
    }
}

record! {
    /// The state of a sub-agent.
    pub AgentState<'a> {
        /// `pendingInit`, `running`, `completed`, `errored`, `interrupted`, `shutdown` or `notFound`.
        status: Option<Str<'a>> = "status",
        /// Its final message.
        message: Option<Str<'a>> = "message",
    }
}
