/** The runner's API, as its OpenAPI document has it: `npm run generate` writes this file. */

/** What a session does, as its runner knows it: of a dialogue that it drives. All is `null` that is not known. */
export type Activity = {
  /** Tokens of the context that there are. */
  readonly context_size?: number | null;
  /** Tokens of the context that are used. */
  readonly context_used?: number | null;
  /** The agent's id of its conversation. */
  readonly conversation?: string | null;
  /** Cost so far, in US dollars. */
  readonly cost_usd?: number | null;
  /** Number of hosts that are attached through this daemon. */
  readonly hosts?: number | null;
  /** The model. */
  readonly model?: string | null;
  /** Number of open permission requests. */
  readonly open_permissions?: number | null;
  /** The phase: `starting`, `idle`, `running`, `awaiting_permission`, `ended` or `lost`. */
  readonly phase?: string | null;
  /** Why it is in this phase, as text. */
  readonly reason?: string | null;
  /** What the conversation is about: its title, or its first prompt. */
  readonly title?: string | null;
};

/** The agent's program. */
export type Agent = {
  readonly name?: string | null;
  readonly version?: string | null;
};

/** An agent, and where it is installed. */
export type AgentOnMachine = {
  /** The protocol that it is driven by. */
  readonly dialect: string;
  /** The command that installs it. */
  readonly install: string;
  /** Its name, for `agent` of a new session. */
  readonly name: string;
  /** Its program; `null` if it is not in `PATH`. */
  readonly path?: string | null;
};

/** The agents that are known by name. */
export type Agents = {
  readonly agents: readonly (AgentOnMachine)[];
};

/** The open permission requests of all sessions. */
export type AllPermissions = {
  /** Stands for this list: `since` of the next request. */
  readonly cursor: string;
  /** The open requests, oldest first. */
  readonly permissions: readonly (SessionPermission)[];
};

/** When and where a part of a stream arrived. */
export type Arrival = {
  /** Milliseconds since the Unix epoch. `null` if unknown. */
  readonly at_ms?: number | null;
  /** Offset of its first byte. */
  readonly offset: number;
  /** The end of the session's output at that time. Only input has it. */
  readonly output?: number | null;
};

/** When the bytes of a stream arrived. */
export type Arrivals = {
  /** The parts of the range that arrived together, in order. */
  readonly arrivals: readonly (Arrival)[];
  /** Offset for the next request; that of this one at the end. */
  readonly next: number;
};

/** An image, a PDF or a text of a prompt. */
export type Attachment = {
  /** The bytes in base64 (RFC 4648, section 4). */
  readonly data: string;
  /** `image/png`, `image/jpeg`, `image/gif`, `image/webp`, `application/pdf`, or `text/plain` in UTF-8. */
  readonly media_type: string;
  /** Title of a PDF or text. */
  readonly title?: string | null;
};

/** A part of a message. Its further members depend on `type`. */
export type Block = {
  /** Schema 2: `[from, to]`, byte offsets in the agent's output. */
  readonly bytes?: readonly (number)[];
  /** Of `tool_call`. */
  readonly id?: string;
  /** Of `other`: the block as the agent wrote it. */
  readonly raw?: Readonly<Record<string, unknown>>;
  /** Of `text` and `thinking`. */
  readonly text?: string;
  /** `text`, `thinking`, `redacted_thinking`, `tool_call` or `other`. */
  readonly type: string;
};

/** Tokens of a model call, as far as the agent reports them. */
export type CallTokens = {
  readonly cache_creation_tokens: number;
  readonly cache_read_tokens: number;
  readonly input_tokens: number;
  /** `null` if the agent does not report the final count, as without partial messages. */
  readonly output_tokens?: number | null;
};

/** A value of a setting. */
export type Choice = {
  readonly description?: string | null;
  readonly id: string;
  readonly name: string;
};

/** A command that the agent offers. */
export type Command = {
  readonly description?: string | null;
  readonly name: string;
};

/** The context was compacted. */
export type Compaction = {
  readonly at_ms?: number | null;
  /** The number of the entry. */
  readonly entry: number;
  /** Offset in the output. */
  readonly offset: number;
};

/** A part of what a tool call shows. Its further members depend on `type`. */
export type Content = {
  /** Of `terminal`. */
  readonly command?: string;
  /** Of `terminal`. */
  readonly cwd?: string | null;
  /** Of `diff`: the new text. */
  readonly new?: string | null;
  /** Of `diff`: the replaced text. */
  readonly old?: string | null;
  /** Of `diff`: a unified diff. */
  readonly patch?: string | null;
  /** Of `diff`. */
  readonly path?: string;
  /** Of `text`. */
  readonly text?: string;
  /** `text`, `diff` or `terminal`. */
  readonly type: string;
};

/** The context window, in tokens. */
export type Context = {
  readonly size?: number | null;
  readonly used?: number | null;
};

/** How full the context was. */
export type ContextPoint = {
  readonly at_ms?: number | null;
  /** Offset in the output. */
  readonly offset: number;
  /** Tokens that fit; `null` if unknown. */
  readonly size?: number | null;
  /** Tokens. */
  readonly used: number;
};

/** A session that was created. */
export type Created = {
  /** Incarnation of the child. */
  readonly epoch: string;
  /** Id of the session. */
  readonly id: string;
  /** Process id of the child. */
  readonly pid?: number | null;
};

/** Why a part of a session's log, or its metadata, cannot be read. */
export type Damage = {
  /** Offset in the segment's file of the first byte that cannot be read. */
  readonly offset?: number | null;
  /** What is wrong, as text. */
  readonly reason: string;
  /**
   * The damaged segment of the log's journal, unless the metadata is damaged or the journal is of
   * another version.
   */
  readonly segment?: number | null;
};

/** The answer to a permission request. */
export type DecidedBy = {
  /** In milliseconds since the Unix epoch. */
  readonly at_ms?: number | null;
  /** The id of the option, or `allow`, `deny`, `answer` or `cancel`. */
  readonly how?: string | null;
  /** The host, or the rule. */
  readonly who?: string | null;
};

/** A session, and the state of its streams. */
export type Details = (Session) & ({
  /** Bytes of input that were accepted. */
  readonly input_next?: number | null;
  readonly silence?: (SilenceDetails) | (null);
  readonly size?: (Size) | (null);
  /** The available range of each stream, by name. Empty once the session's process has ended. */
  readonly streams: Readonly<Record<string, Range>>;
});

/** How a session was ended. */
export type Ended = {
  readonly exit?: (Exit) | (null);
  /** Process ids that were killed. */
  readonly killed: readonly (number)[];
  /** Whether the log and the metadata were removed. They can be restored for an hour. */
  readonly removed: boolean;
  /** Process ids that survived. */
  readonly survivors: readonly (number)[];
};

/** An entry. Its further members depend on `kind`. */
export type Entry = {
  /** Schema 2: arrival of the first line, in milliseconds since the Unix epoch. */
  readonly at_ms?: number | null;
  /** Of `assistant`. */
  readonly blocks?: readonly (Block)[];
  /** Schema 2: `[from, to]`, byte offsets in the agent's output. */
  readonly bytes?: readonly (number)[];
  /** Of `result`. */
  readonly duration_ms?: number;
  /**
   * Of `error`: `parse`, `truncated`, `unexpected_exit`, `reconnect_failed`, `session_timeout`,
   * `answer_undelivered` or `gap`.
   */
  readonly error?: string;
  /** Schema 2: whether the agent repeated it from its own history. */
  readonly history?: boolean;
  /** Of `result`. */
  readonly is_error?: boolean;
  /** `user`, `assistant`, `result`, `notice` or `error`. */
  readonly kind: string;
  /** Of `assistant`. */
  readonly message_id?: string;
  /** Of `assistant`. */
  readonly model?: string | null;
  /** Of `notice`: the type of its line. */
  readonly notice?: string;
  /** Of `result`: round trips to the model. */
  readonly num_turns?: number;
  /** Of `result`: what started the turn, if not the host. */
  readonly origin?: string | null;
  /** Of `result`: `completed`, `cancelled`, `failed` or `suspended`. */
  readonly outcome?: string;
  /** Of `user`: whether the agent echoed it. */
  readonly replay?: boolean;
  /** Of `assistant`: `streaming`, `complete` or `aborted`. */
  readonly state?: string;
  /** Of `result`. */
  readonly subtype?: string;
  /** Of `user`: whether the agent wrote it. */
  readonly synthetic?: boolean;
  /** Of all kinds but `assistant`. */
  readonly text?: string | null;
  /** Schema 2: the turn; `null` between turns. */
  readonly turn?: string | null;
  /** Of `user`. */
  readonly uuid?: string | null;
};

/** The exit status of a session's child. Both `code` and `signal` are absent if it is unknown. */
export type Exit = {
  /** The exit code, unless a signal ended the child. */
  readonly code?: number | null;
  /** Whether the kernel killed the child for lack of memory. */
  readonly oom: boolean;
  /** The signal that ended the child. */
  readonly signal?: number | null;
};

/** Folders whose path begins with a text. */
export type Folders = {
  /** Absolute paths, sorted, at most 50. Hidden ones only if the prefix has the dot. */
  readonly folders: readonly (string)[];
};

/** Health of the runner. */
export type Health = {
  /** `ok`. */
  readonly status: string;
  /** Version of the runner. */
  readonly version: string;
};

/** A file that was left out of a list. */
export type HistoryProblem = {
  /** The file or folder. */
  readonly path: string;
  /** The reason, in one line. */
  readonly reason: string;
};

/** The kind of a session. */
export type Kind = "dialogue" | "terminal";

/** A usage limit of the account. */
export type Limit = {
  /** When the window begins again, in milliseconds since the Unix epoch. */
  readonly resets_at_ms?: number | null;
  /** Used share, from 0.0 to 1.0. */
  readonly used_share?: number | null;
  /** Name of the window, such as `five_hour`. */
  readonly window: string;
};

/** A line, or lines of one kind that follow each other and became a part of the same. */
export type Line = {
  /** The beginning of what the line says. */
  readonly about?: string | null;
  /** When the first line arrived, in milliseconds since the Unix epoch. `null` if unknown. */
  readonly at_ms?: number | null;
  /** What it became a part of. Empty if it changed nothing in the transcript. */
  readonly became: readonly (LineTarget)[];
  /** Offsets in its stream, with line ends. */
  readonly bytes: readonly (number)[];
  /** Why it is no event of the agent. */
  readonly error?: string | null;
  /** Index of its first line among those of every stream. */
  readonly index: number;
  /** The type of the line, such as `system/init` or `session/update tool_call`. */
  readonly kind: string;
  /** Number of lines. */
  readonly lines: number;
  /** `duplicate`, `unknown` (a type that this version does not know) or `invalid`; `null` for others. */
  readonly note?: string | null;
  /** Number of its first line in its stream, from 1; 0 of a gap. */
  readonly number: number;
  /** `output`, `input`, `stderr`, or `gap` for lost output. */
  readonly stream: string;
};

/** Lines of a session. */
export type LinePage = {
  /** Index of the item that was asked for. */
  readonly at: number;
  /** Index of the first item. */
  readonly from: number;
  /** The rows, or the lines. */
  readonly items: readonly (Line)[];
  /** Number of lines in all, of every stream. */
  readonly lines: number;
  /** Number of rows in all. */
  readonly rows: number;
};

/** What a line became a part of. */
export type LineTarget = {
  /** The number of the entry of the main thread that it is a part of. */
  readonly main_entry?: number | null;
  /** The number of the entry, the call, the permission request or the task, as in changes. */
  readonly number?: number | null;
  /** `entry`, `tool_call`, `permission`, `task`, `session`, `status` or `usage`. */
  readonly type: string;
};

/** A file that a tool call works on. */
export type Location = {
  /** From 1. */
  readonly line?: number | null;
  readonly path: string;
};

/** A link that opens the page and logs it in once. */
export type LoginLink = {
  /** Validity of the link, in milliseconds. The first login consumes it. */
  readonly expires_in_ms: number;
  /** The link. Its ticket is in the fragment, which browsers do not send. */
  readonly url: string;
};

/** The mode of a terminal. */
export type Mode = "cooked" | "raw";

/** A call of a model, from the line that it answers on. */
export type ModelCallSpan = (Span) & ({
  /** The number of the entry. */
  readonly entry: number;
  readonly model?: string | null;
  /** The id of the tool call that holds the thread; `null` in the main thread. */
  readonly thread?: string | null;
  readonly usage?: (CallTokens) | (null);
});

/** The answer to a permission request. */
export type NewAnswer = {
  /**
   * The answers to a request with questions, by their id or text, instead of a decision. For conversations that
   * the runner drives.
   */
  readonly answers?: Readonly<Record<string, string>> | null;
  /** Name of the client that answers. It is in `decided_by` for clients that answer later. */
  readonly by?: string | null;
  readonly decision?: (Verdict) | (null);
  /** Whether a denial also ends the turn. */
  readonly interrupt?: boolean;
  /** The reason of a denial, which the agent receives. */
  readonly message?: string | null;
  /** Id of one of the request's options, instead of a decision. For conversations that the runner drives. */
  readonly option?: string | null;
  /** Id of the permission request. */
  readonly request_id: string;
  /** Replaces the tool's input: a JSON object. */
  readonly updated_input?: Readonly<Record<string, unknown>> | null;
  /** Permission rules to save: a JSON array. */
  readonly updated_permissions?: readonly (Readonly<Record<string, unknown>>)[] | null;
};

/** What a session may use. A limit that is absent does not apply. */
export type NewBudget = {
  /** The cost, in US dollars. Refused for agents that report none. */
  readonly cost_usd?: number | null;
  /** The time since the start, in seconds. */
  readonly seconds?: number | null;
  /** Tokens: input, output and cache writes. */
  readonly tokens?: number | null;
  /** Turns. */
  readonly turns?: number | null;
};

/** The child's environment. */
export type NewEnvironment = {
  /** Whether to inherit the runner's environment. */
  readonly inherit?: boolean;
  /** Variables to remove. */
  readonly remove?: readonly (string)[];
  /** Variables to set. */
  readonly set?: Readonly<Record<string, string>>;
};

/** What to interrupt. */
export type NewInterrupt = {
  /** Whether to drop queued prompts too. */
  readonly cancel_queued?: boolean;
  /**
   * Id of the interrupt, 1 to 128 bytes. A repeated interrupt has no effect; the id of another
   * request is refused. Default: a random one.
   */
  readonly id?: string | null;
  /**
   * End offset of the agent's output that the client had seen when it asked: `stats.bytes` of the transcript, or
   * `streams.stdout.end` of the session. A turn that ended past it is not followed by an interrupt of the next
   * one. Only for an agent that was started by its name. Default: whatever runs is interrupted.
   */
  readonly seen?: number | null;
  /** Id of one background task to stop. The turn and the other tasks continue. */
  readonly task?: string | null;
  /** Whether to stop the open background tasks too. */
  readonly tasks?: boolean;
};

/** What is kept on disk. */
export type NewJournal = {
  /** Maximum size of the journal, in bytes. Default: 256 MiB. */
  readonly cap_bytes?: number;
  /** Whether to keep a journal. */
  readonly on?: boolean;
};

/** An MCP server: a program with `command`, `args` and `env`, or an endpoint with `type`, `url` and `headers`. */
export type NewMcpServer = {
  /** Its arguments. */
  readonly args?: readonly (string)[];
  /** The program. */
  readonly command?: string | null;
  /** Variables beside the agent's own. */
  readonly env?: readonly (NewPair)[];
  /** Headers of each request to the endpoint. */
  readonly headers?: readonly (NewPair)[];
  /** Its name, different from those of the session's other servers. */
  readonly name: string;
  /** How the agent reaches it: `stdio`, which it starts, `http` or `sse`. */
  readonly type?: string | null;
  /** The endpoint. */
  readonly url?: string | null;
};

/** An option to change. */
export type NewOption = {
  /** Id of the request, 1 to 128 bytes. A repeated request has no effect. Default: a random one. */
  readonly id?: string | null;
  /** Id of the option: `model`, `mode`, `effort`, or one of the agent's own, as the transcript lists them. */
  readonly option: string;
  /** The new value. */
  readonly value: string;
};

/** A variable, or a header. */
export type NewPair = {
  /** Its name. */
  readonly name: string;
  /** Its value. */
  readonly value: string;
};

/** A prompt for the agent. */
export type NewPrompt = {
  /** Files that are attached to it, at most 10 MiB together. Only for dialogues. */
  readonly attachments?: readonly (Attachment)[];
  /**
   * Id of the prompt, 1 to 128 bytes, a UUID for dialogues. A repeated prompt is not written
   * again; the id of another request is refused. Default: a random one.
   */
  readonly id?: string | null;
  /**
   * Whether the prompt waits until the agent is idle, in a queue that can be changed until then. Otherwise the
   * agent decides: most take a prompt into the running turn. Only for an agent that was started by its name.
   */
  readonly queue?: boolean;
  /** The prompt. */
  readonly text: string;
};

/** The session to create. */
export type NewSession = {
  /**
   * The agent: its name (`claude`, `codex`, `gemini`, `opencode`, `qwen`, `copilot`), or the path of its
   * program. `kind`, `program`, `args`, `stdio`, `ring_bytes` and `journal` are then not allowed.
   */
  readonly agent?: string | null;
  /** With an agent: further arguments. */
  readonly agent_args?: readonly (string)[];
  /** With an agent: tools that need no permission, in the syntax of its rules. */
  readonly allowed_tools?: readonly (string)[];
  /** Arguments of the program. */
  readonly args?: readonly (string)[];
  /**
   * With an agent: what it may use before the session pauses and asks, by a permission request of the kind
   * `question`.
   */
  readonly budget?: NewBudget;
  /** The child's working directory, which must exist. */
  readonly cwd?: string | null;
  /** With an agent: the protocol that it speaks: `claude`, `qwen`, `codex` or `acp`. Default: that of its name. */
  readonly dialect?: string | null;
  /** The child's environment. */
  readonly env?: NewEnvironment;
  /**
   * How long the exit status is kept for a client to acknowledge it, in milliseconds. Default:
   * 24 hours.
   */
  readonly exit_kept_ms?: number | null;
  /** With an agent: whether to resume a copy of the conversation. */
  readonly fork?: boolean;
  /** The agent's hooks to serve, as `bowline_hooks::HookSpec` has them; with `--settings` and `bowline:hooks` in `args`. */
  readonly hooks?: Readonly<Record<string, unknown>> | null;
  /** Id of the session, a UUID. Default: a random one. */
  readonly id?: string | null;
  /** What is kept on disk. */
  readonly journal?: NewJournal;
  /**
   * Kind of session. With `cwd` or `label`, and without `agent`, `prompt`, `kind` and `program`, the session is the
   * user's shell in a terminal.
   */
  readonly kind?: Kind;
  /** Display name, if `name` is absent. */
  readonly label?: string | null;
  /** Labels for the creator's use. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * With an agent: MCP servers that it connects to, beside those of its configuration, in the form of ACP's
   * `session/new`. One that it cannot reach is refused by its name.
   */
  readonly mcp_servers?: readonly (NewMcpServer)[];
  /** With an agent: the permission mode. Default: the agent's own. */
  readonly mode?: string | null;
  /** With an agent: the model. Default: the agent's own. */
  readonly model?: string | null;
  /** Display name. */
  readonly name?: string | null;
  /** With an agent: rules that answer permission requests before a user is asked, in TOML. */
  readonly policy?: string | null;
  /** The program: a path, or a name to look up in the child's `PATH`. */
  readonly program?: string | null;
  /** With an agent: the first prompt. */
  readonly prompt?: string | null;
  /** With an agent: id of the first prompt, a UUID. Default: a random one. */
  readonly prompt_id?: string | null;
  /** With an agent: id of its conversation to resume. */
  readonly resume?: string | null;
  /**
   * With an agent: the prompt with which the session continues after a turn that met a usage limit of the agent's
   * account, once the limit resets. Without it the session waits for a prompt.
   */
  readonly resume_at_reset?: string | null;
  /** Bytes of each stream that are kept in memory. Default: 1 MiB. */
  readonly ring_bytes?: number | null;
  /** Lines above a terminal's screen that a host receives when it joins. Default: 10,000. */
  readonly scrollback_lines?: number | null;
  /** The child's standard streams. Default: a terminal for the kind `terminal`, else pipes. */
  readonly stdio?: NewStdio;
  /**
   * Id of a session of another runner of the fleet, which has ended or whose runner is silent: its agent continues
   * the conversation here, in a new epoch of the session. Only `cwd` and `prompt` are then allowed beside it.
   */
  readonly take_over?: string | null;
};

/** The child's standard streams. */
export type NewStdio = ({
  readonly type: "pipes";
}) | ({
  /** The initial mode. Default: `cooked`. */
  readonly mode?: Mode;
  /** The initial window size. Default: 24 rows of 80 columns. */
  readonly size?: Size;
  readonly type: "pty";
});

/** What a ticket permits: either attaching to a session or creating one. */
export type NewTicket = {
  readonly create?: (NewSession) | (null);
  /** The highest lease: `read`, `append` or `write`. Default: `read`. */
  readonly lease?: string | null;
  /** The session to attach to. */
  readonly session?: string | null;
};

/** Where older lines are. */
export type OlderLines = {
  /** The screen above which they are. */
  readonly at: string;
  /** Number of lines above that screen that are newer. */
  readonly skip: number;
};

/** A past conversation. */
export type PastConversation = {
  /** `claude` or `codex`. */
  readonly agent: string;
  /** The branch of the repository. */
  readonly branch?: string | null;
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** Cost in US dollars, if the agent recorded it. */
  readonly cost_usd?: number | null;
  /** The working directory that it began in. */
  readonly cwd?: string | null;
  /** The agent's id of the conversation. */
  readonly id: string;
  /** Time of the last activity, in milliseconds since the Unix epoch. */
  readonly last_activity_ms: number;
  /** The model of the last answer. */
  readonly model?: string | null;
  /** The file. */
  readonly path: string;
  /** The title that the user or the agent gave it, or the beginning of the first prompt. */
  readonly title?: string | null;
  /** Number of prompts. */
  readonly turns: number;
};

/** A list of past conversations. */
export type PastConversations = {
  /** The conversations, those with the newest activity first. */
  readonly conversations: readonly (PastConversation)[];
  /** The files that were left out. */
  readonly problems: readonly (HistoryProblem)[];
};

/** A permission request of the agent. */
export type Permission = {
  /** When the agent asked, in milliseconds since the Unix epoch; 0 if unknown. */
  readonly at_ms: number;
  /** Byte range of its line in the output. */
  readonly bytes: readonly (number)[];
  readonly decided_by?: (DecidedBy) | (null);
  /** Input of the tool. */
  readonly input: Readonly<Record<string, unknown>>;
  /** What it asks for: `permission`, `question` or `url`. */
  readonly kind: string;
  /** The answers to choose from, by their id. */
  readonly options: readonly (PermissionOption)[];
  /** The questions to answer. */
  readonly questions: readonly (Question)[];
  /** Id of the permission request. */
  readonly request_id: string;
  /** The rule that a lasting answer would add. */
  readonly rule?: string | null;
  /** `open`, or how the request was closed. */
  readonly state: string;
  /** The thread that asks; `null` for the main one. */
  readonly thread?: string | null;
  /** Name of the tool. */
  readonly tool_name: string;
  /** Id of the tool call. */
  readonly tool_use_id?: string | null;
  /** The URL to open. */
  readonly url?: string | null;
};

/** An answer to choose. */
export type PermissionOption = {
  /** Its id. */
  readonly id: string;
  /** What it does: `allow_once`, `allow_always`, `reject_once` or `reject_always`. */
  readonly kind: string;
  /** What it says. */
  readonly name: string;
};

/** A permission request, as long as it was open. */
export type PermissionSpan = (Span) & ({
  readonly request_id: string;
  /** `open`, `allowed`, `denied`, `answered`, `withdrawn`, `expired` or `orphaned`. */
  readonly state: string;
  readonly tool_name: string;
  /** The id of the tool call. */
  readonly tool_use_id?: string | null;
});

/** The permission requests of the agent. */
export type Permissions = {
  /** The permission requests, oldest first. */
  readonly permissions: readonly (Permission)[];
};

/** A step of the agent's plan. */
export type PlanItem = {
  /** `high`, `medium` or `low`. */
  readonly priority?: string | null;
  /** `pending`, `in_progress` or `completed`. */
  readonly state: string;
  readonly text: string;
};

/** The schema of a problem. */
export type Problem = {
  /** When the request may succeed, in milliseconds. */
  readonly after_ms?: number | null;
  /** A stable error code in capitals. */
  readonly code: string;
  /** The author, kind and time of the answer to a permission request that is closed: `who`, `how`, `at_ms`. */
  readonly decided_by?: Readonly<Record<string, unknown>> | null;
  /** What failed, as text. */
  readonly detail: string;
  /** What to do next, as text. */
  readonly next: string;
  /** The status of the response. */
  readonly status: number;
  /** What the status means, as text. */
  readonly title: string;
  /** The kind of problem, which is stable: `urn:bowline:problem:` and the code. */
  readonly type: string;
};

/** The state of a prompt. */
export type PromptTaken = {
  /** Id of the prompt. */
  readonly id: string;
  /** `queued`, `written`, `submitted` or `unverified`. */
  readonly state: string;
};

/** A question with an answer of its own. */
export type Question = {
  /** Whether the answer may be a text that is not among the options. */
  readonly free_text: boolean;
  readonly id: string;
  /** `single`, `multiple` or `text`. */
  readonly kind: string;
  readonly options: readonly (QuestionOption)[];
  readonly text: string;
  readonly title?: string | null;
};

/** A choice of a question. */
export type QuestionOption = {
  readonly description?: string | null;
  readonly name: string;
  readonly value: string;
};

/** The prompts that wait for their turn. */
export type Queue = {
  /** In the order in which the agent will answer them. */
  readonly queue: readonly (QueuedPrompt)[];
};

/** A change of a prompt that waits: exactly one of the members. */
export type QueueChange = {
  /** Id of a waiting prompt. The changed one is placed after it. */
  readonly after?: string | null;
  /** Id of a waiting prompt. The changed one is placed before it. */
  readonly before?: string | null;
  /** The new text. */
  readonly text?: string | null;
};

/** A prompt that waits for its turn. */
export type QueuedPrompt = {
  readonly id: string;
  /** `waiting` (at the host) or `sent`. */
  readonly state: string;
  readonly text: string;
};

/** The available range of a stream, as byte offsets from its start. */
export type Range = {
  /** What the bytes survive: `memory`, `process` or `power`. */
  readonly durable: string;
  /** End offset of the stream. */
  readonly end: number;
  /** Offset of the oldest available byte. */
  readonly start: number;
};

/** An answer that the host may choose by its id. */
export type RequestOption = {
  readonly id: string;
  /** `allow_once`, `allow_always`, `reject_once` or `reject_always`. */
  readonly kind: string;
  readonly name: string;
};

/** Lines above a terminal's screen. */
export type Scrollback = {
  /**
   * The lines, oldest first: text with SGR sequences and links (OSC 8). Each begins and ends without either,
   * and is as long as it was written: the client wraps it.
   */
  readonly lines: readonly (string)[];
  /** Whether older lines are not recorded any more. */
  readonly lost: boolean;
  readonly older?: (OlderLines) | (null);
};

/** Something that was found. */
export type SearchHit = {
  readonly after: string;
  /** What comes before it, as found, and after it. */
  readonly before: string;
  /** Offsets in the output. */
  readonly bytes?: readonly (number)[] | null;
  /** The number of the entry that has it. */
  readonly entry?: number | null;
  readonly found: string;
  readonly in: SearchPlace;
  /** The number of the entry in the main thread that it is a part of. */
  readonly main_entry?: number | null;
  /** The id of the tool call. */
  readonly tool_call?: string | null;
};

/** Where something was found. */
export type SearchPlace = "text" | "tools" | "bytes";

/** What was found. */
export type SearchResult = {
  /** The hits: those in the transcript in its order, then those in the bytes. */
  readonly hits: readonly (SearchHit)[];
  /**
   * Where to continue; `null` at the end. It may be there without hits, since a request looks through at most
   * 64 MiB.
   */
  readonly next?: string | null;
};

/** A session as the REST API lists it. */
export type Session = (Activity) & ({
  /** The working directory, if one was given. */
  readonly cwd?: string | null;
  readonly damage?: (Damage) | (null);
  /** When the session ended, in milliseconds since the Unix epoch. */
  readonly ended_ms?: number | null;
  /** Incarnation of the child. */
  readonly epoch: string;
  readonly exit?: (Exit) | (null);
  /** Id of the session. */
  readonly id: string;
  /** Kind of session. */
  readonly kind: Kind;
  /** Labels that the creator has set. */
  readonly labels: Readonly<Record<string, string>>;
  /** Text of the session's hosts, at most 64 KiB, from a request for one session; a list omits it. */
  readonly metadata?: string | null;
  /** Display name. */
  readonly name?: string | null;
  /** Process id of the child, while it runs. */
  readonly pid?: number | null;
  /** The program that was started. */
  readonly program: string;
  /** When the session was started, in milliseconds since the Unix epoch. */
  readonly started_ms: number;
  /** State of the session. */
  readonly state: State;
  /** The child's standard streams: `pipes` or `pty`. */
  readonly stdio: string;
});

/** A setting of the session. */
export type SessionOption = {
  /** `mode`, `model`, `thought_level`, … */
  readonly category?: string | null;
  /** Empty for a switch. */
  readonly choices: readonly (Choice)[];
  readonly id: string;
  readonly name: string;
  /** Id of the current choice, or `true` and `false` for a switch. */
  readonly value?: string | null;
};

/** A permission request of one of the sessions. */
export type SessionPermission = (Permission) & ({
  /** Name of the agent. */
  readonly agent: string;
  /** Display name of the session. */
  readonly label?: string | null;
  /** Id of the session. */
  readonly session: string;
});

/**
 * A change of what hosts record about a session: the body of `PATCH /api/sessions/{id}`. Absent members
 * stay as they are.
 */
export type SessionUpdate = {
  /**
   * Labels to set, and those to remove as `null`; other labels stay. Names that begin with `bowline.` are
   * reserved.
   */
  readonly labels?: Readonly<Record<string, string | null>>;
  /** Text of the host's own, at most 64 KiB; `null` removes it. */
  readonly metadata?: string | null;
  /** The display name; `null` removes it. */
  readonly name?: string | null;
};

/** The sessions of a runner: the response to `GET /api/sessions`. */
export type Sessions = {
  /** Where the list continues, if it was limited: the parameter `after` of the next request. */
  readonly next?: string | null;
  /** The sessions, oldest first. */
  readonly sessions: readonly (Session)[];
};

/** What a silence may be due to. */
export type SilenceCauseDetails = {
  /** `HIDDEN_PERMISSION`: a sub-agent may wait for a permission that its agent does not ask for. */
  readonly code: string;
  /** What it may be. */
  readonly detail: string;
  /** What to do about it. */
  readonly next: string;
};

/** A silence of an agent. */
export type SilenceDetails = {
  readonly cause?: (SilenceCauseDetails) | (null);
  /** What the session is busy with: `starting`, `model`, `tool`, `permission`, `background task`, … */
  readonly phase: string;
  /** Time without a sign of life, in milliseconds. */
  readonly silent_ms: number;
};

/** The size of a terminal window, in characters. */
export type Size = {
  /** Columns. */
  readonly cols: number;
  /** Rows. */
  readonly rows: number;
};

/** A part of a session. */
export type Span = {
  /** Offsets in the output. */
  readonly bytes: readonly (number)[];
  /** Its beginning, in milliseconds since the Unix epoch; `null` if unknown. */
  readonly from_ms?: number | null;
  /** Its end; `null` if unknown, or if it is open. */
  readonly to_ms?: number | null;
};

/** The state of a session. */
export type State = "running" | "exited" | "lost";

/** Counts of the agent's output. */
export type Stats = {
  readonly bytes: number;
  /** Whether a part of unknown length is missing; absent if none is. */
  readonly damaged?: boolean;
  readonly duplicates: number;
  readonly events: number;
  readonly lines: number;
  /** Bytes that are missing; absent if none are. */
  readonly missing?: number;
  readonly parse_errors: number;
  readonly truncated: boolean;
  /** Lines of unknown types, by type. */
  readonly unknown: Readonly<Record<string, number>>;
};

/** The activity of the session. */
export type Status = {
  /** `starting`, `idle`, `running`, `awaiting_permission` or `ended`. */
  readonly phase: string;
  /** The evidence for the phase. */
  readonly reason: string;
};

/** A sub-agent, with its entries and tool calls. */
export type Subagent = {
  readonly agent_id?: string | null;
  readonly entries: readonly (Entry)[];
  /** Schema 2: see `Thread`. */
  readonly state?: string | null;
  /** Schema 2: what it works on. */
  readonly title?: string | null;
  readonly tool_calls: Readonly<Record<string, ToolCall>>;
  readonly type?: string | null;
  readonly usage?: (Tokens) | (null);
};

/** A background task. */
export type Task = {
  readonly description: string;
  readonly kind?: string | null;
  /** `pending`, `running`, `completed`, `failed`, `killed`, `paused` or `lost`. */
  readonly state: string;
  readonly tool_use_id?: string | null;
};

/** The thread of a sub-agent. */
export type Thread = {
  /** Id of the call that started it, whose `subagent` has its entries and tool calls. */
  readonly call?: string | null;
  /** `null` if a call holds it. */
  readonly entries?: readonly (Entry)[] | null;
  /** `running`, `requires_action`, `idle`, `completed`, `failed`, `interrupted` or `lost`. */
  readonly state?: string | null;
  readonly title?: string | null;
  /** `null` if a call holds it. */
  readonly tool_calls?: Readonly<Record<string, ToolCall>> | null;
  readonly usage?: (Tokens) | (null);
};

/** A ticket for one attach. */
export type Ticket = {
  /** Validity of the ticket, in milliseconds. The first attach consumes it. */
  readonly expires_in_ms: number;
  /** The secret, used in place of the token. */
  readonly ticket: string;
};

/** What lasts in a session, side by side. */
export type Timeline = {
  readonly compactions: readonly (Compaction)[];
  readonly context: readonly (ContextPoint)[];
  /** The end of the output. */
  readonly end: number;
  /** The first and the last known time, in milliseconds since the Unix epoch; `null` without any. */
  readonly from_ms?: number | null;
  /**
   * Whether the lines of output are in the order of their times. If not, as in recordings that were joined, a time
   * does not tell a moment, and an offset does.
   */
  readonly is_ordered: boolean;
  /** Number of spans that are not listed, the shortest ones. */
  readonly left_out: number;
  /** Lines of output. */
  readonly lines: number;
  readonly model_calls: readonly (ModelCallSpan)[];
  readonly permissions: readonly (PermissionSpan)[];
  readonly to_ms?: number | null;
  readonly tools: readonly (ToolSpan)[];
  readonly turns: readonly (TurnSpan)[];
};

/** Tokens. */
export type Tokens = {
  readonly cache_creation_tokens: number;
  readonly cache_read_tokens: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
};

/** A tool call and its result. */
export type ToolCall = {
  /** Schema 2: `[from, to]`, byte offsets in the agent's output. */
  readonly bytes?: readonly (number)[];
  /** Schema 2: texts, changes of files, commands. */
  readonly content?: readonly (Content)[];
  /** Schema 2: when it ended, in milliseconds since the Unix epoch. */
  readonly ended_ms?: number | null;
  /** Schema 2. */
  readonly exit_code?: number | null;
  readonly id: string;
  /** The arguments; `null` while the model writes them. */
  readonly input?: Readonly<Record<string, unknown>> | null;
  /**
   * Schema 2: `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode` or
   * `other`.
   */
  readonly kind?: string | null;
  /** Schema 2: the files that it works on. */
  readonly locations?: readonly (Location)[];
  readonly name: string;
  /** Schema 2: what its command has printed so far. */
  readonly output?: string | null;
  readonly result?: (ToolResult) | (null);
  /** Schema 2: when it was first seen, in milliseconds since the Unix epoch. */
  readonly started_ms?: number | null;
  /** `pending`, `awaiting_permission`, `running`, `succeeded`, `failed`, `interrupted` or `lost`. */
  readonly state: string;
  readonly subagent?: (Subagent) | (null);
  /** Schema 2: a line that says what it does. */
  readonly title?: string | null;
  readonly usage?: (Tokens) | (null);
};

/** The result of a tool call. */
export type ToolResult = {
  readonly is_error: boolean;
  readonly text: string;
};

/** A tool call. */
export type ToolSpan = (Span) & ({
  /** The number of the entry in the main thread that it is a part of. */
  readonly entry?: number | null;
  /** The id of the call. */
  readonly id: string;
  readonly name: string;
  /** `pending`, `awaiting_permission`, `running`, `succeeded`, `failed`, `interrupted` or `lost`. */
  readonly state: string;
  /** Whether a sub-agent worked on it. */
  readonly subagent: boolean;
  /** The id of the tool call that holds the thread; `null` in the main thread. */
  readonly thread?: string | null;
  /** A line that says what it does. */
  readonly title?: string | null;
});

/**
 * A transcript. An absent or unknown value is `null` or empty; members marked "schema 2" are absent
 * from schema 1. Enumerations may grow.
 */
export type Transcript = {
  /** Schema 2: the agent's program. */
  readonly agent?: Agent;
  readonly cli_version?: string | null;
  /** Schema 2: the commands that the agent offers. */
  readonly commands?: readonly (Command)[];
  readonly context?: (Context) | (null);
  /** All ids of the agent's conversation, in order. */
  readonly conversations: readonly (string)[];
  readonly cwd?: string | null;
  /** Schema 2: the agent's protocol, such as `claude`, `codex` or `acp`. */
  readonly dialect?: string;
  /** The entries of the main thread, in order. */
  readonly entries: readonly (Entry)[];
  /** Schema 2: the usage limits of the account. */
  readonly limits?: readonly (Limit)[];
  readonly model?: string | null;
  /** Schema 2: the settings of the session. */
  readonly options?: readonly (SessionOption)[];
  readonly permission_mode?: string | null;
  /** Permission requests, oldest first. */
  readonly permissions: readonly (TranscriptPermission)[];
  /** Schema 2: the steps of the agent's plan. */
  readonly plan?: readonly (PlanItem)[];
  /** Schema 2: the prompts that wait for their turn. */
  readonly queue?: readonly (QueuedPrompt)[];
  /** Version of the schema. */
  readonly schema: number;
  /** Newest id of the agent's conversation. */
  readonly session_id?: string | null;
  readonly stats: Stats;
  readonly status: Status;
  /** Background tasks, by id. */
  readonly tasks: Readonly<Record<string, Task>>;
  /** Schema 2: the threads of sub-agents, by name. */
  readonly threads?: Readonly<Record<string, Thread>>;
  /** Schema 2: the title of the conversation. */
  readonly title?: string | null;
  /** The tool calls of the main thread, by id. */
  readonly tool_calls: Readonly<Record<string, ToolCall>>;
  readonly usage: Usage;
};

/** A part of a transcript. */
export type TranscriptPart = {
  /** Offset in the output up to which it was folded. */
  readonly at: number;
  /** When the last output up to there arrived, in milliseconds since the Unix epoch; `null` if unknown. */
  readonly at_ms?: number | null;
  /**
   * The changes that make up this part, a reset first: entries of the main thread with their blocks, their tool
   * calls and the threads of their sub-agents; and all that concerns the session as a whole.
   */
  readonly changes: readonly (unknown)[];
  /** The number of entries of the main thread in this part. */
  readonly count: number;
  /** Number of entries of the main thread in all. */
  readonly entries: number;
  /** Index of the first one of this part. */
  readonly from: number;
  /** Offset in the input up to which it was folded. */
  readonly input: number;
  /** Lines of output up to there. */
  readonly line: number;
};

/** A permission request. */
export type TranscriptPermission = {
  /** Schema 2: `[from, to]`, byte offsets in the agent's output. */
  readonly bytes?: readonly (number)[];
  readonly decided_by?: (DecidedBy) | (null);
  /** Schema 2: `permission`, `question` or `url`. */
  readonly kind?: string;
  /** Schema 2: the answers to choose from. */
  readonly options?: readonly (RequestOption)[];
  /** Schema 2: the questions to answer. */
  readonly questions?: readonly (Question)[];
  readonly request_id: string;
  /** Schema 2: what a lasting answer would add. */
  readonly rule?: string | null;
  /** `open`, `allowed`, `denied`, `answered`, `withdrawn`, `expired` or `orphaned`. */
  readonly state: string;
  /** Schema 2: the name of the thread that asks; `null` for the main one. */
  readonly thread?: string | null;
  readonly tool_name: string;
  readonly tool_use_id?: string | null;
  /** Schema 2: the URL to open. */
  readonly url?: string | null;
};

/** A turn. */
export type TurnSpan = (Span) & ({
  /** Its cost in US dollars, if the agent reports it. */
  readonly cost_usd?: number | null;
  /** The number of its first entry. */
  readonly entry: number;
  /** `completed`, `cancelled`, `failed` or `suspended`; `null` while it runs. */
  readonly outcome?: string | null;
  /** The id of the turn, as entries have it. */
  readonly turn: string;
});

/** A line with members that this version does not read. */
export type UnknownMembersOfLine = {
  /** The members, as JSON pointers (RFC 6901). */
  readonly members: readonly (string)[];
  /** Offset of the line. */
  readonly offset: number;
};

/** Lines with members that this version does not read. */
export type UnknownMembersPage = {
  /** Whether this version lists the members of the protocol; if not, no line is checked. */
  readonly is_checked: boolean;
  /**
   * Number of lines whose members are not checked, since this version keeps a message of their type, or the result
   * of a request, as a whole.
   */
  readonly kept_whole: number;
  /** The lines that have some, in order. */
  readonly lines: readonly (UnknownMembersOfLine)[];
};

/** Tokens and cost of all conversations. */
export type Usage = {
  readonly cost_usd: number;
  /** By model. */
  readonly models: Readonly<Record<string, Tokens>>;
};

/** Whether a tool may run. */
export type Verdict = "allow" | "deny";
