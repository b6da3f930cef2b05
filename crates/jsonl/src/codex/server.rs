//! Messages of Codex, by their method (PROTOCOL-codex.md, Notifications, Requests of Codex).

use crate::codex::item::{FileChange, Item};
use crate::grammar::{Field, record};
use crate::raw::RawJson;
use crate::rpc::{Id, Message, read, request_id};
use crate::text::Str;

/// A line of Codex.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ServerMessage<'a> {
    /// `thread/started`
    ThreadStarted(Box<Thread<'a>>),
    /// `thread/status/changed`
    ThreadStatus(ThreadStatus<'a>),
    /// `thread/name/updated`
    ThreadName(ThreadStatus<'a>),
    /// `turn/started`
    TurnStarted(Box<TurnLine<'a>>),
    /// `turn/completed`
    TurnCompleted(Box<TurnLine<'a>>),
    /// `item/started`
    ItemStarted(Box<ItemLine<'a>>),
    /// `item/completed`
    ItemCompleted(Box<ItemLine<'a>>),
    /// `item/agentMessage/delta`
    TextDelta(ItemDelta<'a>),
    /// `item/plan/delta`
    PlanDelta(ItemDelta<'a>),
    /// `item/reasoning/summaryTextDelta`
    SummaryDelta(ItemDelta<'a>),
    /// `item/reasoning/textDelta`
    ReasoningDelta(ItemDelta<'a>),
    /// `item/commandExecution/outputDelta`
    OutputDelta(ItemDelta<'a>),
    /// `item/fileChange/patchUpdated`
    PatchUpdated(ItemDelta<'a>),
    /// `turn/plan/updated`
    Plan(TurnPlan<'a>),
    /// `turn/diff/updated`: all changes of the turn so far, a unified diff.
    Diff(ItemDelta<'a>),
    /// `thread/tokenUsage/updated`
    TokenUsage(Box<TokenUsage<'a>>),
    /// `account/rateLimits/updated`
    RateLimits(Box<RateLimits>),
    /// `serverRequest/resolved`: the request of this id is answered or withdrawn.
    Resolved(Option<Id<'a>>),
    /// `error`, `warning`, `configWarning`, `deprecationNotice`, `guardianWarning`, `model/rerouted`,
    /// `thread/compacted`, by their method.
    Notice(Str<'a>, Box<ServerNotice<'a>>),
    /// `item/commandExecution/requestApproval`, `item/fileChange/requestApproval`,
    /// `item/permissions/requestApproval`, `applyPatchApproval` or `execCommandApproval`, by its method.
    Approval(Id<'a>, Str<'a>, Box<Approval<'a>>),
    /// `item/tool/requestUserInput`
    Questions(Id<'a>, Questions<'a>),
    /// Any other notification, parts of items that `item/completed` repeats, any other request, which
    /// the host must answer, and the answer to a request of the host.
    Other(Message<'a>),
}

impl<'a> ServerMessage<'a> {
    /// Reads a line of Codex.
    #[must_use]
    pub fn of(message: Message<'a>) -> Self {
        match message {
            Message::Request { id, method, params } => match &*method.decode() {
                "item/commandExecution/requestApproval"
                | "item/fileChange/requestApproval"
                | "item/permissions/requestApproval"
                | "applyPatchApproval"
                | "execCommandApproval" => Self::Approval(id, method, boxed(params)),
                "item/tool/requestUserInput" => Self::Questions(id, read(params)),
                _ => Self::Other(message),
            },
            Message::Notification { method, params, .. } => {
                Self::notification(method, params).unwrap_or(Self::Other(message))
            }
            Message::Response { .. } => Self::Other(message),
        }
    }

    /// Reads a notification; none if it has no case of its own.
    fn notification(method: Str<'a>, params: Option<RawJson<'a>>) -> Option<Self> {
        Some(match &*method.decode() {
            "item/agentMessage/delta" => Self::TextDelta(read(params)),
            "item/reasoning/summaryTextDelta" => Self::SummaryDelta(read(params)),
            "item/reasoning/textDelta" => Self::ReasoningDelta(read(params)),
            "item/commandExecution/outputDelta" => Self::OutputDelta(read(params)),
            "item/plan/delta" => Self::PlanDelta(read(params)),
            "item/fileChange/patchUpdated" => Self::PatchUpdated(read(params)),
            "item/started" => Self::ItemStarted(boxed(params)),
            "item/completed" => Self::ItemCompleted(boxed(params)),
            "turn/started" => Self::TurnStarted(boxed(params)),
            "turn/completed" => Self::TurnCompleted(boxed(params)),
            "turn/plan/updated" => Self::Plan(read(params)),
            "turn/diff/updated" => Self::Diff(read(params)),
            "thread/started" => {
                let thread = params.and_then(|params| params.get("thread"));
                Self::ThreadStarted(boxed(thread))
            }
            "thread/status/changed" => Self::ThreadStatus(read(params)),
            "thread/name/updated" => Self::ThreadName(read(params)),
            "thread/tokenUsage/updated" => Self::TokenUsage(boxed(params)),
            "account/rateLimits/updated" => {
                let limits = params.and_then(|params| params.get("rateLimits"));
                Self::RateLimits(boxed(limits))
            }
            "serverRequest/resolved" => Self::Resolved(request_id(params)),
            "error" | "warning" | "configWarning" | "deprecationNotice" | "guardianWarning"
            | "model/rerouted" | "thread/compacted" => Self::Notice(method, boxed(params)),
            _ => return None,
        })
    }
}

fn boxed<'a, T: Field<'a> + Default>(params: Option<RawJson<'a>>) -> Box<T> {
    Box::new(read(params))
}

record! {
    /// A thread: a conversation, or a sub-agent's.
    pub Thread<'a> {
        /// Its id.
        id: Option<Str<'a>> = "id",
        /// The thread whose past it continues.
        forked_from_id: Option<Str<'a>> = "forkedFromId",
        /// The thread whose sub-agent it belongs to.
        parent_thread_id: Option<Str<'a>> = "parentThreadId",
        /// Its first prompt, shortened.
        preview: Option<Str<'a>> = "preview",
        /// Its title.
        name: Option<Str<'a>> = "name",
        /// Its working directory.
        cwd: Option<Str<'a>> = "cwd",
        /// Its model.
        model: Option<Str<'a>> = "model",
        /// The version of Codex.
        cli_version: Option<Str<'a>> = "cliVersion",
        /// Its file.
        path: Option<Str<'a>> = "path",
        /// The turns of a thread that was resumed, an array that [`Thread::turns`] reads.
        turns: Option<RawJson<'a>> = "turns" [Turn<'a>],
    }
}

impl<'a> Thread<'a> {
    /// Returns the turns that a resumed thread comes with.
    pub fn turns(&self) -> impl Iterator<Item = Turn<'a>> {
        self.turns.into_iter().flat_map(RawJson::list_of)
    }
}

record! {
    /// The result of `thread/start`, `thread/resume` and `thread/fork`.
    pub ThreadOpened<'a> {
        /// The thread.
        thread: Thread<'a> = "thread",
        /// Its model.
        model: Option<Str<'a>> = "model",
        /// Its working directory.
        cwd: Option<Str<'a>> = "cwd",
        /// When Codex asks, a string or an object.
        approval_policy: Option<RawJson<'a>> = "approvalPolicy",
        /// The effort.
        reasoning_effort: Option<Str<'a>> = "reasoningEffort",
    }
}

impl<'a> ThreadOpened<'a> {
    /// Reads the result of a response; none unless it has a thread.
    #[must_use]
    pub fn parse(result: RawJson<'a>) -> Option<Self> {
        let opened: Self = result.parse_as();
        opened.thread.id.is_some().then_some(opened)
    }
}

record! {
    /// A change of a thread's status or name.
    pub ThreadStatus<'a> {
        /// The thread.
        thread_id: Option<Str<'a>> = "threadId",
        /// An object with `type`: `idle`, `active`, `systemError` or `notLoaded`.
        status: Option<RawJson<'a>> = "status",
        /// The name.
        thread_name: Option<Str<'a>> = "threadName",
    }
}

record! {
    /// The begin or the end of a turn.
    pub TurnLine<'a> {
        /// The thread.
        thread_id: Option<Str<'a>> = "threadId",
        /// The turn.
        turn: Turn<'a> = "turn",
    }
}

record! {
    /// A turn.
    pub Turn<'a> {
        /// Its id.
        id: Option<Str<'a>> = "id",
        /// `inProgress`, `completed`, `interrupted` or `failed`.
        status: Option<Str<'a>> = "status",
        /// Why it failed.
        error: TurnError<'a> = "error",
        /// Its items where the thread was resumed, an array that [`Turn::items`] reads; otherwise a
        /// summary or nothing, by `itemsView`.
        items: Option<RawJson<'a>> = "items" [Item<'a>],
        /// `full`, `summary` or `notLoaded`.
        items_view: Option<Str<'a>> = "itemsView",
        /// In milliseconds.
        duration_ms: Option<u64> = "durationMs",
    }
}

impl<'a> Turn<'a> {
    /// Reads the `turn` of a result; none unless it has one.
    #[must_use]
    pub fn parse(result: RawJson<'a>) -> Option<Self> {
        let turn: Self = result.get("turn")?.parse_as();
        turn.id.is_some().then_some(turn)
    }

    /// Returns the items.
    pub fn items(&self) -> impl Iterator<Item = Item<'a>> {
        self.items.into_iter().flat_map(RawJson::list_of)
    }
}

record! {
    /// Why a turn failed.
    pub TurnError<'a> {
        /// What the model's API answered.
        message: Option<Str<'a>> = "message",
        /// A class, a string or an object.
        info: Option<RawJson<'a>> = "codexErrorInfo",
    }
}

record! {
    /// The begin or the end of an item.
    pub ItemLine<'a> {
        /// The item.
        item: Item<'a> = "item",
        /// The thread.
        thread_id: Option<Str<'a>> = "threadId",
        /// The turn.
        turn_id: Option<Str<'a>> = "turnId",
    }
}

record! {
    /// A part of an item, or of a turn.
    pub ItemDelta<'a> {
        /// The thread.
        thread_id: Option<Str<'a>> = "threadId",
        /// The turn.
        turn_id: Option<Str<'a>> = "turnId",
        /// The item.
        item_id: Option<Str<'a>> = "itemId",
        /// Text to append.
        delta: Option<Str<'a>> = "delta",
        /// The paragraph of a summary, from 0.
        summary_index: Option<u64> = "summaryIndex",
        /// The changes of `item/fileChange/patchUpdated`, an array of
        /// [`FileChange`](crate::codex::FileChange)s.
        changes: Option<RawJson<'a>> = "changes" [FileChange<'a>],
        /// The diff of `turn/diff/updated`.
        diff: Option<Str<'a>> = "diff",
    }
}

record! {
    /// `turn/plan/updated`: replaces the plan.
    pub TurnPlan<'a> {
        /// The thread.
        thread_id: Option<Str<'a>> = "threadId",
        /// The turn.
        turn_id: Option<Str<'a>> = "turnId",
        /// Why it changed.
        explanation: Option<Str<'a>> = "explanation",
        /// An array that [`TurnPlan::steps`] reads.
        plan: Option<RawJson<'a>> = "plan" [PlanStep<'a>],
    }
}

impl<'a> TurnPlan<'a> {
    /// Returns the steps.
    pub fn steps(&self) -> impl Iterator<Item = PlanStep<'a>> {
        self.plan.into_iter().flat_map(RawJson::list_of)
    }
}

record! {
    /// One step of a plan.
    pub PlanStep<'a> {
        /// What is to be done.
        step: Option<Str<'a>> = "step",
        /// `pending`, `inProgress` or `completed`.
        status: Option<Str<'a>> = "status",
    }
}

record! {
    /// `thread/tokenUsage/updated`
    pub TokenUsage<'a> {
        /// The thread.
        thread_id: Option<Str<'a>> = "threadId",
        /// The turn.
        turn_id: Option<Str<'a>> = "turnId",
        /// The counts.
        usage: TokenCounts = "tokenUsage",
    }
}

record! {
    /// Tokens of a thread.
    pub TokenCounts {
        /// Of the thread so far.
        total: Tokens = "total",
        /// Of the last call of the model.
        last: Tokens = "last",
        /// Tokens that fit in the context.
        model_context_window: Option<u64> = "modelContextWindow",
    }
}

record! {
    /// Numbers of tokens.
    pub Tokens {
        /// All of them.
        total: Option<u64> = "totalTokens",
        /// Of prompts.
        input: Option<u64> = "inputTokens",
        /// Of prompts, read from the cache.
        cached_input: Option<u64> = "cachedInputTokens",
        /// Of prompts, written to the cache.
        cache_write_input: Option<u64> = "cacheWriteInputTokens",
        /// Of answers.
        output: Option<u64> = "outputTokens",
        /// Of reasoning.
        reasoning_output: Option<u64> = "reasoningOutputTokens",
    }
}

record! {
    /// `account/rateLimits/updated`
    pub RateLimits {
        /// The shorter window.
        primary: Option<Box<LimitWindow>> = "primary",
        /// The longer window.
        secondary: Option<Box<LimitWindow>> = "secondary",
    }
}

record! {
    /// A window of time with a limit.
    pub LimitWindow {
        /// Its used share in percent.
        used_percent: Option<f64> = "usedPercent",
        /// Its length in minutes.
        window_duration_mins: Option<u64> = "windowDurationMins",
        /// Its end, in seconds since the Unix epoch.
        resets_at: Option<u64> = "resetsAt",
    }
}

record! {
    /// A message of Codex about itself.
    pub ServerNotice<'a> {
        /// The thread; none where it is about the process.
        thread_id: Option<Str<'a>> = "threadId",
        /// The text of `warning`.
        message: Option<Str<'a>> = "message",
        /// The text of `configWarning` and `deprecationNotice`.
        summary: Option<Str<'a>> = "summary",
        /// The error of `error`.
        error: TurnError<'a> = "error",
        /// Whether Codex tries again after the `error`.
        will_retry: Option<bool> = "willRetry",
        /// The new model of `model/rerouted`.
        to_model: Option<Str<'a>> = "toModel",
    }
}

record! {
    /// A request for approval.
    pub Approval<'a> {
        /// The thread.
        thread_id: Option<Str<'a>> = "threadId",
        /// The turn.
        turn_id: Option<Str<'a>> = "turnId",
        /// The item that waits.
        item_id: Option<Str<'a>> = "itemId",
        /// Why it is needed.
        reason: Option<Str<'a>> = "reason",
        /// The command line.
        command: Option<Str<'a>> = "command",
        /// Its working directory.
        cwd: Option<Str<'a>> = "cwd",
        /// The directory that the agent wants to write in from now on.
        grant_root: Option<Str<'a>> = "grantRoot",
        /// The rule that `acceptWithExecpolicyAmendment` adds, an array of strings.
        proposed_amendment: Option<RawJson<'a>> = "proposedExecpolicyAmendment",
        /// Possible decisions, an array of strings and objects.
        available_decisions: Option<RawJson<'a>> = "availableDecisions",
        /// What `item/permissions/requestApproval` asks for.
        permissions: Option<RawJson<'a>> = "permissions",
    }
}

record! {
    /// The parameters of `item/tool/requestUserInput`.
    pub Questions<'a> {
        /// The thread.
        thread_id: Option<Str<'a>> = "threadId",
        /// The turn.
        turn_id: Option<Str<'a>> = "turnId",
        /// The item that waits.
        item_id: Option<Str<'a>> = "itemId",
        /// An array that [`Questions::questions`] reads.
        questions: Option<RawJson<'a>> = "questions" [Question<'a>],
    }
}

impl<'a> Questions<'a> {
    /// Returns the questions.
    pub fn questions(&self) -> impl Iterator<Item = Question<'a>> {
        self.questions.into_iter().flat_map(RawJson::list_of)
    }
}

record! {
    /// A question to the user.
    pub Question<'a> {
        /// Its id, for the answer.
        id: Option<Str<'a>> = "id",
        /// A word or two.
        header: Option<Str<'a>> = "header",
        /// The question.
        question: Option<Str<'a>> = "question",
        /// Whether another answer may be given.
        is_other: bool = "isOther",
        /// Whether the answer is a secret.
        is_secret: bool = "isSecret",
        /// An array that [`Question::options`] reads; none for free text.
        options: Option<RawJson<'a>> = "options" [QuestionOption<'a>],
    }
}

impl<'a> Question<'a> {
    /// Returns the answers to choose from.
    pub fn options(&self) -> impl Iterator<Item = QuestionOption<'a>> {
        self.options.into_iter().flat_map(RawJson::list_of)
    }
}

record! {
    /// An answer to choose.
    pub QuestionOption<'a> {
        /// The answer.
        label: Option<Str<'a>> = "label",
        /// What it means.
        description: Option<Str<'a>> = "description",
    }
}
