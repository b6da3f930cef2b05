//! A session of a real agent with a scripted model, and readings of its transcript.

use bowline_lifecycle::{
    AgentLocation, Conversation, Decision, DialogueConfiguration, DialogueSession, Environment,
    Prompt, error_chain,
};
use bowline_reducer::Schema;
use bowline_tests::other_agents::{AgentHome, ModelApi, OtherAgent, Reply};
use bowline_tests::session::{until, within};
use serde_json::Value;

use crate::cuts::CutLink;

pub(crate) struct Rig {
    pub(crate) agent: OtherAgent,
    pub(crate) home: AgentHome,
    pub(crate) api: ModelApi,
    pub(crate) session: DialogueSession,
    pub(crate) link: Option<CutLink>,
}

impl Rig {
    /// Starts a session that asks before commands and edits, in this process or over a link.
    pub(crate) async fn start(agent: OtherAgent, link: Option<CutLink>) -> Self {
        Self::start_with(agent, link, |_| {}).await
    }

    pub(crate) async fn start_with(
        agent: OtherAgent,
        link: Option<CutLink>,
        change: impl FnOnce(&mut DialogueConfiguration),
    ) -> Self {
        let api = ModelApi::start(agent.format()).await.expect("an API");
        let home = AgentHome::new(agent, &api).expect("a temporary home");
        let mut configuration = configuration(agent, &home, &api);
        change(&mut configuration);
        let session = start(configuration, link.as_ref()).await;
        Self {
            agent,
            home,
            api,
            session,
            link,
        }
    }

    /// Ends the session, and starts another one with its conversation.
    pub(crate) async fn resume(&mut self) {
        within("the end", self.session.end()).await;
        self.home.age_conversations().expect("its files");
        let past = self.now().await;
        let id = past["session_id"].as_str().expect("an id").to_owned();
        let mut configuration = configuration(self.agent, &self.home, &self.api);
        configuration.conversation = Conversation::Resume { id, fork: false };
        self.session = start(configuration, self.link.as_ref()).await;
    }

    pub(crate) fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        self.api.script(replies);
    }

    /// Sends a prompt.
    pub(crate) async fn send(&self, text: &str) -> bowline_lifecycle::Receipt {
        let sent = self.session.send(Prompt::text(text)).await;
        sent.expect("the prompt is sent")
    }

    pub(crate) async fn until(&self, what: &str, ready: impl Fn(&Value) -> bool) {
        until(&self.session, what, ready).await;
    }

    /// Waits for a permission request, and returns its id.
    pub(crate) async fn asked(&self) -> String {
        let open = || self.session.permissions().open().next().cloned();
        self.until("a question", |_| open().is_some()).await;
        open().expect("a question").request_id.clone()
    }

    pub(crate) async fn answer(&self, id: &str, decision: Decision) {
        let answered = self.session.answer_permission(id, decision).await;
        answered.expect("it is open");
    }

    /// Waits for a permission request and answers it.
    pub(crate) async fn decide(&self, decision: Decision) {
        let id = self.asked().await;
        self.answer(&id, decision).await;
    }

    /// Returns the transcript now.
    pub(crate) async fn now(&self) -> Value {
        let snapshot = self.session.snapshot().await;
        let chunks: Vec<_> = snapshot.json_chunks(Schema::Two).flatten().collect();
        serde_json::from_slice(&chunks).expect("JSON")
    }

    /// Ends the session, and checks that nothing is left of it, and that all of the script was used.
    pub(crate) async fn finish(mut self) {
        let end = within("the end", self.session.end()).await;
        assert!(end.expected && end.report.survivors.is_empty(), "{end:?}");
        if let Some(link) = self.link.take() {
            link.close().await;
        }
        let transcript = self.now().await;
        assert_eq!(transcript["stats"]["parse_errors"], 0);
        let unknown = transcript["stats"]["unknown"].as_object().expect("counts");
        let mut unknown = unknown.keys().filter(|it| !self.agent.is_undeclared(it));
        assert_eq!(unknown.next(), None);
        assert_eq!(self.home.processes(), "");
        assert_eq!(self.api.left(), 0, "replies that the agent did not ask for");
    }
}

/// Starts a session that the agent refuses, and returns the message, once nothing is left of it.
pub(crate) async fn refused(
    agent: OtherAgent,
    change: impl FnOnce(&mut DialogueConfiguration),
) -> String {
    let api = ModelApi::start(agent.format()).await.expect("an API");
    let home = AgentHome::new(agent, &api).expect("a temporary home");
    let mut configuration = configuration(agent, &home, &api);
    change(&mut configuration);
    let started = within("an error", DialogueSession::start(configuration)).await;
    assert_eq!(home.processes(), "");
    error_chain(&started.expect_err("it is refused"))
}

async fn start(
    mut configuration: DialogueConfiguration,
    link: Option<&CutLink>,
) -> DialogueSession {
    if let Some(link) = link {
        // The request that creates the session is not retried.
        link.pause();
        configuration.location = AgentLocation::Runner(link.remote());
    }
    let session = within("start", DialogueSession::start(configuration)).await;
    if let Some(link) = link {
        link.resume();
    }
    session.expect("the agent starts")
}

fn configuration(agent: OtherAgent, home: &AgentHome, api: &ModelApi) -> DialogueConfiguration {
    let mut env = Environment::empty();
    for (name, value) in home.environment(api) {
        env.set(name, value);
    }
    let mut configuration = DialogueConfiguration {
        env,
        cwd: Some(home.project()),
        // Gemini CLI asks by default, and opencode by its configuration.
        permission_mode: (agent == OtherAgent::Codex).then(|| "untrusted".into()),
        ..DialogueConfiguration::default()
    };
    configuration.set_agent(agent.program(), Some(agent.dialect()));
    configuration
}

/// The entries since the last prompt.
fn last_turn(transcript: &Value) -> &[Value] {
    let entries = transcript["entries"].as_array().expect("entries");
    let prompt = entries.iter().rposition(|it| it["kind"] == "user");
    &entries[prompt.expect("a prompt")..]
}

fn blocks(entries: &[Value]) -> impl Iterator<Item = &Value> {
    let assistant = entries.iter().filter(|it| it["kind"] == "assistant");
    assistant.flat_map(|it| it["blocks"].as_array().expect("blocks"))
}

fn texts_of(entries: &[Value]) -> Vec<&str> {
    let texts = blocks(entries).filter(|block| block["type"] == "text");
    texts.filter_map(|block| block["text"].as_str()).collect()
}

/// The agent's texts since the last prompt.
pub(crate) fn last_texts(transcript: &Value) -> Vec<&str> {
    texts_of(last_turn(transcript))
}

/// Whether the agent has written this text.
pub(crate) fn has_text(transcript: &Value, text: &str) -> bool {
    let entries = transcript["entries"].as_array().expect("entries");
    texts_of(entries).contains(&text)
}

/// The tool calls since the last prompt.
pub(crate) fn last_calls(transcript: &Value) -> Vec<&Value> {
    let calls = blocks(last_turn(transcript)).filter(|block| block["type"] == "tool_call");
    let ids = calls.map(|block| block["id"].as_str().expect("an id"));
    ids.map(|id| &transcript["tool_calls"][id]).collect()
}

/// How the turns ended.
pub(crate) fn outcomes(transcript: &Value) -> Vec<&str> {
    let entries = transcript["entries"].as_array().expect("entries");
    let results = entries.iter().filter(|it| it["kind"] == "result");
    results.filter_map(|it| it["outcome"].as_str()).collect()
}
