//! The agent with its home, its scripted model, and the transcripts of undisturbed runs.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bowline_lifecycle::{
    AgentLocation, DialogueConfiguration, DialogueSession, DialogueStdio, Environment,
};
use bowline_transport::{Remote, RemoteUrl};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Mutex;

use super::actions::{send, settled};
use crate::campaign::support::{describe, left_after, marked, own, within};
use crate::real_agent::scenario::{self, Scenario};
use crate::real_agent::{Agent, Home, MessagesApi, normalized_agent};
use crate::session::transcript;

/// How long a process may outlive the end of the session.
const LEFT: Duration = Duration::from_secs(2);

/// Number of characters of a long text before the pause.
const HELD: usize = 200;

/// The conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Conversation {
    /// A text that takes three seconds.
    Text,
    /// A text of half a megabyte, larger than every buffer on its way.
    LongText,
    /// A tool call and a text.
    Tool,
    /// A sub-agent in a sub-agent.
    Agents,
}

impl Conversation {
    fn scenario(self) -> Scenario {
        match self {
            Self::Text => scenario::long_text(120, Duration::from_millis(6)),
            Self::LongText => held(scenario::long_text(600, Duration::ZERO)),
            Self::Tool => scenario::one_tool(),
            Self::Agents => scenario::nested_agents(),
        }
    }
}

/// Pauses in the middle of the answer until the gate is opened.
fn held(mut scenario: Scenario) -> Scenario {
    scenario.script = scenario.script.held_after(HELD, scenario::STREAM_GATE);
    scenario
}

/// The transcript of an undisturbed run.
#[derive(Clone, Debug)]
pub(super) struct Calm {
    pub(super) transcript: Value,
    /// Duration of the turn.
    pub(super) took: Duration,
}

/// Parameters that a host needs to run the agent, in this process or another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    program: PathBuf,
    env: Vec<(String, String)>,
    cwd: PathBuf,
    allowed: bool,
    partial: bool,
    pub(super) pty: bool,
    pub(super) prompt: String,
    /// Address of the runner, or `None` for this process.
    pub(super) runner: Option<String>,
}

impl Order {
    /// The runner.
    pub(super) fn remote(&self) -> Result<Option<Remote>, String> {
        let url = self.runner.as_ref().map(|url| url.parse::<RemoteUrl>());
        let url = url.transpose().map_err(|error| error.to_string())?;
        Ok(url.map(Remote::new))
    }

    pub(super) fn configuration(&self) -> Result<DialogueConfiguration, String> {
        let mut env = Environment::empty();
        for (name, value) in &self.env {
            env.set(name, value);
        }
        let mut configuration = DialogueConfiguration {
            program: self.program.clone().into(),
            env,
            cwd: Some(self.cwd.clone()),
            partial_messages: self.partial,
            location: self
                .remote()?
                .map_or(AgentLocation::Local, AgentLocation::Runner),
            ..DialogueConfiguration::default()
        };
        if self.allowed {
            configuration.allowed_tools = vec!["Bash".to_owned()];
        }
        if self.pty {
            configuration.stdio = DialogueStdio::Pty;
        }
        if self.runner.is_none() {
            configuration.guard = Some(own());
        }
        Ok(configuration)
    }

    pub(super) async fn start(&self) -> Result<DialogueSession, String> {
        let started = DialogueSession::start(self.configuration()?);
        let started = within("a dialogue", started).await?;
        started.map_err(|error| error.to_string())
    }
}

/// An agent with its own home and its own model.
#[derive(Debug)]
pub(super) struct AgentSetup {
    home: Home,
    /// Dropping it stops the model.
    api: MessagesApi,
    agent: PathBuf,
    pub(super) order: Order,
}

impl AgentSetup {
    /// Process ids of the agent, without its tools.
    pub(super) fn agents(&self) -> Vec<u32> {
        let is_agent = |pid: &u32| {
            let program = fs::read_link(format!("/proc/{pid}/exe"));
            program.is_ok_and(|program| program == self.agent)
        };
        self.processes().into_iter().filter(is_agent).collect()
    }

    /// Waits until a long text has reached its pause.
    pub(super) async fn in_the_middle(&self) -> Result<(), String> {
        let gate = self.api.gate(scenario::STREAM_GATE);
        within("the middle of the text", gate.reached()).await
    }

    /// Continues a paused text.
    pub(super) fn go_on(&self) {
        self.api.gate(scenario::STREAM_GATE).open();
    }

    /// Normalized transcript of a session.
    pub(super) fn comparable(&self, transcript: &Value) -> Value {
        normalized_agent(transcript, self.home.root())
    }

    /// Every process that was started for this home.
    fn processes(&self) -> BTreeSet<u32> {
        marked(&self.token())
    }

    fn token(&self) -> String {
        self.home.root().display().to_string()
    }

    /// Checks that no process of the session is left.
    pub(super) async fn no_process_is_left(&self, shims: &[u32]) -> Result<(), String> {
        let (token, shims) = (self.token(), shims.to_vec());
        let looking = tokio::task::spawn_blocking(move || {
            let since = Instant::now();
            let mut left = left_after(LEFT, &token);
            let is_there = |pid: &u32| crate::campaign::support::is_alive(*pid);
            while shims.iter().any(is_there) && since.elapsed() < LEFT {
                std::thread::sleep(Duration::from_millis(5));
            }
            left.extend(shims.iter().copied().filter(is_there));
            left
        });
        let left = looking.await.map_err(|error| error.to_string())?;
        match left.is_empty() {
            true => Ok(()),
            false => Err(format!("{LEFT:?} after the end: {}", describe(&left))),
        }
    }
}

/// The agent, and the transcript of an undisturbed run of each scenario.
#[derive(Debug)]
pub(super) struct Theatre {
    agent: PathBuf,
    calm: Mutex<HashMap<(Conversation, bool), Calm>>,
}

impl Theatre {
    pub(super) fn new(agent: Agent) -> Self {
        let found = agent.executable().canonicalize();
        Self {
            agent: found.unwrap_or_else(|_| agent.executable().to_owned()),
            calm: Mutex::default(),
        }
    }

    pub(super) fn stage(&self, scenario: Conversation, pty: bool) -> Result<AgentSetup, String> {
        let scenario = scenario.scenario();
        let api = MessagesApi::start(scenario.script).map_err(|error| error.to_string())?;
        let home = Home::new().map_err(|error| error.to_string())?;
        let env = home.environment(&api).into_iter();
        let text = |it: std::ffi::OsString| it.to_string_lossy().into_owned();
        Ok(AgentSetup {
            order: Order {
                program: self.agent.clone(),
                env: env.map(|(name, value)| (text(name), text(value))).collect(),
                cwd: home.project(),
                allowed: scenario.args.contains(&"--allowedTools"),
                partial: scenario.args.contains(&"--include-partial-messages"),
                pty,
                prompt: scenario
                    .prompts
                    .first()
                    .copied()
                    .unwrap_or_default()
                    .to_owned(),
                runner: None,
            },
            agent: self.agent.clone(),
            api,
            home,
        })
    }

    /// Runs a scenario without disturbance.
    pub(super) async fn calm(&self, scenario: Conversation, pty: bool) -> Result<Calm, String> {
        let mut all = self.calm.lock().await;
        if let Some(calm) = all.get(&(scenario, pty)) {
            return Ok(calm.clone());
        }
        let stage = self.stage(scenario, pty)?;
        stage.go_on();
        let session = stage.order.start().await?;
        let mut receipt = send(&session, &stage.order.prompt).await?;
        let began = Instant::now();
        settled(&mut receipt).await?;
        let took = began.elapsed();
        let transcript = end(&stage, &session).await?;
        stage.no_process_is_left(&[]).await?;
        let calm = Calm { transcript, took };
        all.insert((scenario, pty), calm.clone());
        Ok(calm)
    }
}

/// Ends a session and returns its transcript.
pub(super) async fn end(stage: &AgentSetup, session: &DialogueSession) -> Result<Value, String> {
    let end = within("the end", session.end()).await?;
    if !end.expected || !end.report.survivors.is_empty() {
        return Err(format!("{end:?}"));
    }
    Ok(stage.comparable(&transcript(session).await))
}
