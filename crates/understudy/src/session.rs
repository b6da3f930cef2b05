//! The session: its identity, its settings and its token usage.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::args::{DialectName, Options};
use crate::version::Version;

/// The model that the recordings name.
const MODEL: &str = "claude-opus-5-5";

/// Price of an input and of an output token in US dollars, as in the recordings.
const TOKEN_PRICES: (f64, f64) = (4e-6, 2e-5);

/// The permission modes.
pub(crate) const MODES: &[&str] = &[
    "acceptEdits",
    "auto",
    "bypassPermissions",
    "default",
    "dontAsk",
    "plan",
];

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
    pub(crate) version: Version,
    pub(crate) asks_host: bool,
    pub(crate) usage: UsageTotals,
    prefix: String,
    serial: u32,
}

/// A number of tokens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) thinking: u64,
}

/// Usage since the start of the conversation, and since the last `result`.
#[derive(Debug, Default)]
pub(crate) struct UsageTotals {
    pub(crate) total: Tokens,
    pub(crate) since_result: Tokens,
    pub(crate) cost: f64,
    pub(crate) cost_before: f64,
    pub(crate) results: u64,
    pub(crate) agents: AgentCount,
}

/// Counts of the sub-agents that have been started.
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
            version: options.as_version,
            asks_host: options.asks_host || options.dialect != DialectName::Claude,
            usage: UsageTotals::default(),
            prefix: new_uuid().replace('-', "").chars().take(8).collect(),
            serial: 0,
        }
    }

    /// Takes over the settings that a host gives.
    pub(crate) fn take_settings(&mut self, cwd: Option<&str>, model: Option<&str>) {
        if let Some(cwd) = cwd {
            cwd.clone_into(&mut self.cwd);
        }
        if let Some(model) = model {
            self.model = resolve_model(model);
        }
    }

    /// Returns the folder for the agent's own files.
    pub(crate) fn home() -> String {
        format!("{}/understudy", std::env::temp_dir().display())
    }

    /// Returns a new id such as `msg_1f2e3d4c000001`.
    pub(crate) fn new_id(&mut self, kind: &str) -> String {
        self.serial += 1;
        format!("{kind}_{}{:06}", self.prefix, self.serial)
    }

    /// Returns where the agent would write the output of a background task.
    pub(crate) fn output_file(&self, task_id: &str) -> String {
        let slug = self.slug();
        let folder = std::env::temp_dir();
        format!(
            "{}/claude/{slug}/{}/tasks/{task_id}.output",
            folder.display(),
            self.id
        )
    }

    /// Returns where the agent would write the conversation.
    pub(crate) fn transcript_path(&self) -> String {
        let folder = std::env::temp_dir();
        let (folder, id) = (folder.display(), &self.id);
        format!("{folder}/claude/{}/{id}.jsonl", self.slug())
    }

    /// Returns the working directory as the agent's folder name for it.
    fn slug(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        self.cwd.chars().map(plain).collect()
    }

    /// Begins a new conversation, with its cost at zero.
    pub(crate) fn begin_conversation(&mut self, id: String) {
        self.id = id;
        let results = self.usage.results;
        self.usage = UsageTotals {
            results,
            ..UsageTotals::default()
        };
    }
}

impl Tokens {
    /// Returns the price in US dollars.
    pub(crate) fn cost(self) -> f64 {
        exact(self.input) * TOKEN_PRICES.0 + exact(self.output) * TOKEN_PRICES.1
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.thinking += other.thinking;
    }
}

impl UsageTotals {
    /// Adds the tokens of one API message.
    pub(crate) fn add(&mut self, tokens: Tokens) {
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

/// Returns a random UUID.
pub(crate) fn new_uuid() -> String {
    Uuid::new_v4().to_string()
}

/// Returns the id of a model's short name.
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

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts stay far below 2^52"
)]
fn exact(count: u64) -> f64 {
    count as f64
}
