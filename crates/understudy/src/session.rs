//! What a process knows about itself: identity, settings, tokens spent.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::args::Options;

/// The model that the recorded streams name.
const MODEL: &str = "claude-opus-5-5";

/// US dollars an input and an output token, as the recorded streams price them.
const PRICE: (f64, f64) = (4e-6, 2e-5);

/// Identity and settings of the running session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) cwd: String,
    pub(crate) model: String,
    pub(crate) mode: String,
    pub(crate) may_bypass: bool,
    pub(crate) partials: bool,
    pub(crate) replay: bool,
    pub(crate) forward: bool,
    pub(crate) asks_host: bool,
    pub(crate) ledger: Ledger,
    prefix: String,
    serial: u32,
}

/// Tokens of one stretch of work.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) thinking: u64,
}

/// What has been spent and delivered so far.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) total: Tokens,
    pub(crate) since_result: Tokens,
    pub(crate) cost: f64,
    pub(crate) cost_before: f64,
    pub(crate) results: u64,
    pub(crate) agents: AgentCount,
}

/// Sub-agents of the running turn.
#[derive(Debug, Default)]
pub(crate) struct AgentCount {
    pub(crate) foreground: u64,
    pub(crate) background: u64,
    pub(crate) deepest: u64,
    pub(crate) nested: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) killed: u64,
    pub(crate) kinds: Map<String, Value>,
}

impl Session {
    pub(crate) fn new(options: &Options, forward: bool) -> Self {
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let mode = options.mode.clone().filter(|mode| mode != "manual");
        Self {
            id: session_id(options),
            cwd: cwd.to_string_lossy().into_owned(),
            model: options
                .model
                .as_deref()
                .map_or_else(|| MODEL.to_owned(), resolve_model),
            mode: mode.unwrap_or_else(|| "default".to_owned()),
            may_bypass: options.may_bypass,
            partials: options.partials,
            replay: options.replay,
            forward: forward || options.forward || forward_by_environment(),
            asks_host: options.asks_host,
            ledger: Ledger::default(),
            prefix: new_uuid().replace('-', "").chars().take(8).collect(),
            serial: 0,
        }
    }

    /// An id such as `msg_1f2e3d4c000001`, unlike any other of the session.
    pub(crate) fn fresh(&mut self, kind: &str) -> String {
        self.serial += 1;
        format!("{kind}_{}{:06}", self.prefix, self.serial)
    }

    /// Where the agent would keep the output of a background task.
    pub(crate) fn output_file(&self, task_id: &str) -> String {
        let slug = self.slug();
        let folder = std::env::temp_dir();
        format!(
            "{}/claude/{slug}/{}/tasks/{task_id}.output",
            folder.display(),
            self.id
        )
    }

    /// Where the agent would keep the conversation.
    pub(crate) fn transcript(&self) -> String {
        let folder = std::env::temp_dir();
        let (folder, id) = (folder.display(), &self.id);
        format!("{folder}/claude/{}/{id}.jsonl", self.slug())
    }

    /// The working directory as one name (protocol.md F).
    fn slug(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        self.cwd.chars().map(plain).collect()
    }

    /// A new conversation: new id, cost counted from zero.
    pub(crate) fn reset(&mut self, id: String) {
        self.id = id;
        let results = self.ledger.results;
        self.ledger = Ledger {
            results,
            ..Ledger::default()
        };
    }
}

impl Tokens {
    /// The price in US dollars.
    pub(crate) fn cost(self) -> f64 {
        exact(self.input) * PRICE.0 + exact(self.output) * PRICE.1
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.thinking += other.thinking;
    }
}

impl Ledger {
    /// Books the tokens of one API message.
    pub(crate) fn book(&mut self, tokens: Tokens) {
        self.total.add(tokens);
        self.since_result.add(tokens);
        self.cost += tokens.cost();
    }
}

impl AgentCount {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "spawned": self.foreground + self.background,
            "requested": {"background": 0, "foreground": self.foreground, "unset": self.background},
            "started_in_background": self.background,
            "max_depth": self.deepest,
            "spawned_by_subagents": self.nested,
            "completed": self.completed,
            "failed": self.failed,
            "killed": {"parent": 0, "user": self.killed, "system": 0},
            "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
            "by_type": self.kinds,
        })
    }
}

/// A new random UUID.
pub(crate) fn new_uuid() -> String {
    Uuid::new_v4().to_string()
}

/// The id that a model's short name stands for.
pub(crate) fn resolve_model(name: &str) -> String {
    match name {
        "default" | "opus" => MODEL,
        "sonnet" => "claude-sonnet-5-5",
        "haiku" => "claude-haiku-5-5",
        "fable" => "claude-fable-5-2",
        other => other,
    }
    .to_owned()
}

fn session_id(options: &Options) -> String {
    let kept = if options.fork {
        None
    } else {
        options.resume.clone()
    };
    kept.or_else(|| options.session_id.clone())
        .unwrap_or_else(new_uuid)
}

fn forward_by_environment() -> bool {
    std::env::var_os("CLAUDE_CODE_FORWARD_SUBAGENT_TEXT").is_some_and(|value| value == "1")
}

/// Token counts stay far below 2^52, so the conversion is exact.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts stay far below 2^52"
)]
fn exact(count: u64) -> f64 {
    count as f64
}
