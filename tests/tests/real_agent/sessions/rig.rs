//! A session of the real agent, and helpers for its transcript.

use bowline_lifecycle::{
    AgentVersion, DialogueConfiguration, DialogueEnd, DialogueSession, Environment, Prompt,
    Receipt, ReceiptState,
};
use bowline_tests::real_agent::{Agent, Home, MessagesApi, Scenario};
use bowline_tests::session::{entries, transcript, until, within};
use serde_json::Value;

/// A session of the real agent with its home and scripted API.
pub(crate) struct Rig {
    pub(crate) api: MessagesApi,
    pub(crate) home: Home,
    pub(crate) session: DialogueSession,
    pub(crate) prompts: Vec<&'static str>,
    pub(crate) version: AgentVersion,
}

impl Rig {
    pub(crate) async fn start(scenario: Scenario) -> Self {
        let agent = Agent::for_test();
        let home = Home::new().expect("a temporary home");
        Self::start_in(&agent, home, scenario, |_| {}).await
    }

    pub(crate) async fn start_in(
        agent: &Agent,
        home: Home,
        scenario: Scenario,
        change: impl FnOnce(&mut DialogueConfiguration),
    ) -> Self {
        let api = MessagesApi::start(scenario.script).expect("a scripted API");
        let mut configuration = DialogueConfiguration {
            program: agent.executable().into(),
            env: environment(&home, &api),
            cwd: Some(home.project()),
            ..DialogueConfiguration::default()
        };
        if scenario.args.contains(&"--allowedTools") {
            configuration.allowed_tools = vec!["Bash".to_owned()];
        }
        change(&mut configuration);
        let session = within("start", DialogueSession::start(configuration)).await;
        let session = session.expect("the agent starts");
        Self {
            api,
            home,
            session,
            prompts: scenario.prompts,
            version: agent.version(),
        }
    }

    /// Sends the first prompt, waits for its answer, ends the session and returns the transcript.
    pub(crate) async fn one_turn(self) -> (Value, DialogueEnd) {
        self.answered(0).await;
        self.finish().await
    }

    pub(crate) async fn answered(&self, prompt: usize) {
        let mut receipt = self.send(prompt).await;
        let state = within("an answer", receipt.settled()).await;
        if state == ReceiptState::Unknown {
            let end = within("the end", self.session.ended()).await;
            panic!(
                "the agent ended: {end:?} {}",
                transcript(&self.session).await["entries"]
            );
        }
        assert_eq!(state, ReceiptState::Answered);
    }

    pub(crate) async fn send(&self, prompt: usize) -> Receipt {
        self.session
            .send(Prompt::text(self.prompts[prompt]))
            .await
            .expect("the prompt is sent")
    }

    pub(crate) async fn finish(self) -> (Value, DialogueEnd) {
        let end = within("the end", self.session.end()).await;
        let transcript = transcript(&self.session).await;
        assert!(end.expected && end.report.survivors.is_empty(), "{end:?}");
        let unknown = self.api.unknown();
        assert!(
            unknown.is_empty(),
            "requests outside of the script: {unknown:?}"
        );
        (transcript, end)
    }

    pub(crate) async fn until(&self, what: &str, ready: impl Fn(&Value) -> bool) -> Value {
        until(&self.session, what, ready).await
    }
}

pub(crate) fn environment(home: &Home, api: &MessagesApi) -> Environment {
    let mut env = Environment::empty();
    for (name, value) in home.environment(api) {
        env.set(name, value);
    }
    env
}

/// The assistant's text blocks, in order.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    let entries = entries(value, "assistant").into_iter();
    let blocks = entries.flat_map(|entry| entry["blocks"].as_array().expect("blocks"));
    let texts = blocks.filter(|block| block["type"] == "text");
    texts
        .map(|block| block["text"].as_str().expect("text").to_owned())
        .collect()
}

pub(crate) fn outcomes(value: &Value) -> Vec<&str> {
    let results = entries(value, "result").into_iter();
    results
        .map(|entry| entry["outcome"].as_str().expect("an outcome"))
        .collect()
}

pub(crate) fn result_text(call: &Value) -> &str {
    call["result"]["text"].as_str().expect("a result")
}
