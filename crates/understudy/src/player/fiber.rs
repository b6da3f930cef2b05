//! Fibers, their operations, and the message that a fiber is printing.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::event::{Block, Decision, Part};
use crate::lines::{AgentThread, MessageIds, TaskInfo};
use crate::scenario::{Agent, Step, Tool, WaitFor};

/// A queue of operations that runs concurrently with others.
#[derive(Debug, Default)]
pub(super) struct Fiber {
    pub(super) id: u64,
    /// The fiber that waits for this one.
    pub(super) parent: Option<u64>,
    pub(super) thread: AgentThread,
    pub(super) ops: VecDeque<Op>,
    pub(super) due: Duration,
    pub(super) wait: Wait,
    pub(super) message: Option<Message>,
    /// The call that this fiber executes.
    pub(super) call: Option<PlannedCall>,
    /// The fiber continues after the end of its turn.
    pub(super) background: bool,
    pub(super) tool_uses: u64,
    pub(super) tokens: u64,
    pub(super) last_text: String,
}

/// What a fiber waits for.
#[derive(Debug, Default)]
pub(super) enum Wait {
    #[default]
    No,
    /// The fibers that it started.
    Children,
    /// The response to its control request.
    Response,
    /// An action of the host.
    Host(WaitFor),
    /// Never continues.
    Never,
}

/// An operation of a fiber.
#[derive(Debug)]
pub(super) enum Op {
    Step(Box<Step>),
    Wait(u64),
    Open(Block),
    Delta(String),
    /// The rest of a text, one delta at a time.
    Stream(TextStream),
    Close,
    /// The stop reason and final usage of the message.
    MessageDelta,
    MessageStop,
    /// Abandons a draft: `message_stop` with `abandoned_blocks` from this index.
    Abandon(usize),
    Retry {
        attempt: u64,
        attempts: u64,
        status: Option<u16>,
        error: String,
        delay_ms: u64,
    },
    /// A prompt has joined the turn; `{{prompt}}` is its text from here.
    Ask(String),
    /// Announces a sub-agent before the message ends.
    Announce(Box<TaskInfo>),
    /// Prints the sub-agent's prompt as its first line.
    Prompt(Box<TaskInfo>),
    /// Starts these calls and waits for those in the foreground.
    Start(Vec<PlannedCall>),
    /// Announces a long shell command as a task.
    ShellTask(Box<TaskInfo>),
    Run,
    Decide(Decision),
    Return(Decision),
    AgentEnd,
    ShellEnd,
    Fold,
    EndTurn,
    Frame(Value),
    /// Withdraws a control request, if it is open.
    Withdraw(String),
}

/// A text that is being streamed.
#[derive(Debug)]
pub(super) struct TextStream {
    pub(super) text: String,
    /// Number of bytes that were printed.
    pub(super) printed: usize,
    /// Number of characters in a delta.
    pub(super) delta: usize,
    /// Time before each delta, in milliseconds.
    pub(super) delta_ms: u64,
}

/// A call with its ids.
#[derive(Clone, Debug)]
pub(super) enum PlannedCall {
    Tool {
        id: String,
        tool: Box<Tool>,
    },
    Agent {
        task: Box<TaskInfo>,
        agent: Box<Agent>,
    },
}

/// An API message that is being printed.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) line: MessageIds,
    pub(super) next_index: usize,
    pub(super) open: Option<OpenBlock>,
    pub(super) output_tokens: u64,
    pub(super) thinking_tokens: u64,
    pub(super) ends_in_call: bool,
}

/// The block that is being streamed.
#[derive(Debug)]
pub(super) struct OpenBlock {
    pub(super) index: usize,
    pub(super) block: Block,
    pub(super) text: String,
}

impl Fiber {
    pub(super) fn wake(&mut self, now: Duration) {
        self.wait = Wait::No;
        self.due = self.due.max(now);
    }

    /// Inserts operations before the others.
    pub(super) fn push_front(&mut self, ops: impl IntoIterator<Item = Op>) {
        let mut ops: VecDeque<Op> = ops.into_iter().collect();
        ops.append(&mut self.ops);
        self.ops = ops;
    }

    /// Whether it executes a call that has no result yet.
    pub(super) fn is_open_call(&self) -> bool {
        self.call.is_some() && !(self.ops.is_empty() && matches!(self.wait, Wait::No))
    }

    /// Whether it waits for this, or does so next.
    pub(super) fn waits_for(&self, what: &WaitFor) -> bool {
        match (&self.wait, self.ops.front()) {
            (Wait::Host(wanted), _) => wanted == what,
            (Wait::No, Some(Op::Step(step))) => {
                matches!(&**step, Step::WaitFor(wanted) if wanted == what)
            }
            _ => false,
        }
    }

    /// Returns the open block, for events.
    pub(super) fn part(&self) -> Option<Part<'_>> {
        let message = self.message.as_ref()?;
        let open = message.open.as_ref()?;
        Some(Part {
            thread: &self.thread,
            message_id: &message.line.message_id,
            index: open.index,
            block: &open.block,
        })
    }

    /// Returns the text of the open block so far.
    pub(super) fn open_text(&self) -> Option<&str> {
        Some(&self.message.as_ref()?.open.as_ref()?.text)
    }

    pub(super) fn is_main(&self) -> bool {
        self.thread.task.is_none()
    }
}

impl TextStream {
    /// Returns the next delta; `None` at the end.
    pub(super) fn next(&mut self) -> Option<String> {
        let rest = self.text.get(self.printed..)?;
        let piece: String = rest.chars().take(self.delta.max(1)).collect();
        self.printed += piece.len();
        (!piece.is_empty()).then_some(piece)
    }

    pub(super) fn is_over(&self) -> bool {
        self.printed >= self.text.len()
    }
}

impl Op {
    pub(super) fn step(step: Step) -> Self {
        Self::Step(Box::new(step))
    }
}

impl PlannedCall {
    /// The tool use id.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Tool { id, .. } => id,
            Self::Agent { task, .. } => &task.tool_use_id,
        }
    }

    /// Returns the `tool_use` block.
    pub(super) fn block(&self) -> Block {
        match self {
            Self::Tool { id, tool } => Block::Call {
                id: id.clone(),
                name: tool.name.clone(),
                input: input_of(tool),
            },
            Self::Agent { task, .. } => agent_block(task),
        }
    }
}

fn input_of(tool: &Tool) -> Map<String, Value> {
    let mut input = tool.input.clone();
    if tool.background {
        input.insert("run_in_background".to_owned(), true.into());
    }
    input
}

/// Returns the block of an Agent call. The background is the default, so only the foreground is
/// requested.
fn agent_block(task: &TaskInfo) -> Block {
    let mut input = Map::new();
    input.insert("description".to_owned(), task.description.clone().into());
    input.insert("prompt".to_owned(), task.prompt.clone().into());
    input.insert("subagent_type".to_owned(), task.kind.clone().into());
    if !task.background {
        input.insert("run_in_background".to_owned(), false.into());
    }
    Block::Call {
        id: task.tool_use_id.clone(),
        name: "Agent".to_owned(),
        input,
    }
}
