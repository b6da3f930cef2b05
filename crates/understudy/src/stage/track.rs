//! Tracks, the cues on them, and the message that a track is speaking.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::frames::{Card, Line, Speaker};
use crate::scenario::{Agent, Step, Tool, WaitFor};

/// A queue of cues with a voice of its own.
#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) id: u64,
    /// The track that waits for this one.
    pub(super) parent: Option<u64>,
    pub(super) speaker: Speaker,
    pub(super) cues: VecDeque<Cue>,
    pub(super) due: Duration,
    pub(super) wait: Wait,
    pub(super) message: Option<Message>,
    /// The call that this track carries out.
    pub(super) call: Option<Job>,
    /// A task that outlives its turn.
    pub(super) background: bool,
    pub(super) tool_uses: u64,
    pub(super) tokens: u64,
    pub(super) last_text: String,
}

/// Why a track does not go on.
#[derive(Debug, Default)]
pub(super) enum Wait {
    #[default]
    No,
    /// For the tracks that it started.
    Children,
    /// For the host's answer to this request.
    Answer,
    /// For the host to do something.
    Host(WaitFor),
    /// For nothing.
    Never,
}

/// One thing to do.
#[derive(Debug)]
pub(super) enum Cue {
    Step(Box<Step>),
    Wait(u64),
    Open(Block),
    Delta(String),
    /// The rest of a text, one delta at a time.
    Stream(Flow),
    Close,
    /// The stop reason and final usage of the message.
    MessageDelta,
    MessageStop,
    /// Draft given up: `message_stop` with `abandoned_blocks` from this index.
    Abandon(usize),
    Retry {
        attempt: u64,
        attempts: u64,
        status: Option<u16>,
        error: String,
        delay_ms: u64,
    },
    /// Lines that announce an agent before its message ends.
    Announce(Box<Card>),
    /// The agent's prompt as its first line.
    Prompt(Box<Card>),
    /// Start these calls and wait for those in the foreground.
    Start(Vec<Job>),
    /// The long-running shell command becomes a task.
    ShellTask(Box<Card>),
    Run,
    Decide(Decision),
    Return(Decision),
    AgentEnd,
    ShellEnd,
    Fold,
    EndTurn,
    Frame(Value),
    /// Take a question back, if it is still open.
    Withdraw(String),
}

/// Text that is being streamed.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) text: String,
    /// Bytes that have been said.
    pub(super) said: usize,
    /// Characters a delta.
    pub(super) delta: usize,
    /// Milliseconds before each delta.
    pub(super) delta_ms: u64,
}

/// A planned call.
#[derive(Clone, Debug)]
pub(super) enum Job {
    Tool { id: String, tool: Box<Tool> },
    Agent { card: Box<Card>, agent: Box<Agent> },
}

/// What became of a permission question.
#[derive(Clone, Debug)]
pub(super) enum Decision {
    /// Runs by rule.
    Ruled,
    /// Runs because the host said so, with this input.
    Allowed(Map<String, Value>),
    /// The host said no.
    Denied { message: String, interrupt: bool },
    /// Nobody could be asked.
    Unasked,
    /// The question itself failed.
    Broken(String),
}

/// The kinds of block.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Text,
    Thinking,
    Redacted(String),
    Call {
        id: String,
        name: String,
        input: Map<String, Value>,
    },
}

/// An API message in the making.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) line: Line,
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

impl Track {
    pub(super) fn wake(&mut self, now: Duration) {
        self.wait = Wait::No;
        self.due = self.due.max(now);
    }

    /// Puts cues in front of the others, in order.
    pub(super) fn push_front(&mut self, cues: impl IntoIterator<Item = Cue>) {
        let mut cues: VecDeque<Cue> = cues.into_iter().collect();
        cues.append(&mut self.cues);
        self.cues = cues;
    }

    /// A call that has no result yet.
    pub(super) fn is_open_call(&self) -> bool {
        self.call.is_some() && !(self.cues.is_empty() && matches!(self.wait, Wait::No))
    }

    /// Waits for this, or is just about to.
    pub(super) fn expects(&self, what: &WaitFor) -> bool {
        match (&self.wait, self.cues.front()) {
            (Wait::Host(wanted), _) => wanted == what,
            (Wait::No, Some(Cue::Step(step))) => {
                matches!(&**step, Step::WaitFor(wanted) if wanted == what)
            }
            _ => false,
        }
    }

    pub(super) fn is_main(&self) -> bool {
        self.speaker.card.is_none()
    }
}

impl Flow {
    /// The next delta; `None` at the end.
    pub(super) fn next(&mut self) -> Option<String> {
        let rest = self.text.get(self.said..)?;
        let piece: String = rest.chars().take(self.delta.max(1)).collect();
        self.said += piece.len();
        (!piece.is_empty()).then_some(piece)
    }

    pub(super) fn is_over(&self) -> bool {
        self.said >= self.text.len()
    }
}

impl Cue {
    pub(super) fn step(step: Step) -> Self {
        Self::Step(Box::new(step))
    }
}

impl Job {
    /// The tool use id.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Tool { id, .. } => id,
            Self::Agent { card, .. } => &card.tool_use_id,
        }
    }

    /// The block that calls it.
    pub(super) fn block(&self) -> Block {
        match self {
            Self::Tool { id, tool } => Block::Call {
                id: id.clone(),
                name: tool.name.clone(),
                input: input_of(tool),
            },
            Self::Agent { card, .. } => agent_block(card),
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

/// A call of the Agent tool; the background is its default, so only the foreground is asked for.
fn agent_block(card: &Card) -> Block {
    let mut input = Map::new();
    input.insert("description".to_owned(), card.description.clone().into());
    input.insert("prompt".to_owned(), card.prompt.clone().into());
    input.insert("subagent_type".to_owned(), card.kind.clone().into());
    if !card.background {
        input.insert("run_in_background".to_owned(), false.into());
    }
    Block::Call {
        id: card.tool_use_id.clone(),
        name: "Agent".to_owned(),
        input,
    }
}
