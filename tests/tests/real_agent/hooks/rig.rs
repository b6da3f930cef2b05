//! The real agent with hooks, its home and its scripted API.

use std::path::PathBuf;
use std::time::Duration;

use bowline_hooks::{
    ExposeSecret as _, HookConfiguration, HookEvent, HookEventItem, HookGate, HookHelper, HookKind,
    HookReply, HookServer, HookSubscription,
};
use bowline_lifecycle::{
    AgentDocument, DialogueConfiguration, DialogueSession, Environment, Prompt,
};
use bowline_tests::real_agent::{Agent, Home, MessagesApi, Scenario};
use bowline_tests::session::{transcript, within};
use serde_json::Value;

/// A dialogue with the real agent, and the events of its hooks.
pub(crate) struct Rig {
    pub(crate) api: MessagesApi,
    pub(crate) session: DialogueSession,
    pub(crate) events: HookSubscription,
    prompt: &'static str,
    home: Home,
}

pub(crate) fn helper() -> HookHelper {
    HookHelper {
        program: env!("CARGO_BIN_EXE_hook-helper").into(),
        args: Vec::new(),
    }
}

/// Every common event, and the program for those that are not posted.
pub(crate) fn hooks() -> HookConfiguration {
    HookConfiguration {
        helper: Some(helper()),
        ..HookConfiguration::default()
    }
}

pub(crate) fn gated(default: HookReply, deadline: Duration) -> HookConfiguration {
    HookConfiguration {
        gate: Some(HookGate {
            kinds: vec![HookKind::PreToolUse],
            deadline,
            default,
        }),
        ..hooks()
    }
}

pub(crate) async fn server(configuration: HookConfiguration) -> HookServer {
    HookServer::start(configuration).await.expect("a server")
}

pub(crate) fn environment(home: &Home, api: &MessagesApi) -> Environment {
    let mut env = Environment::empty();
    for (name, value) in home.environment(api) {
        env.set(name, value);
    }
    env
}

impl Rig {
    /// Returns `None` if tests of the real agent are skipped.
    pub(crate) async fn start(scenario: Scenario, server: &HookServer) -> Self {
        Self::start_in(scenario, server, |_| {}).await
    }

    /// The same in a prepared home.
    pub(crate) async fn start_in(
        scenario: Scenario,
        server: &HookServer,
        prepare: impl FnOnce(&Home),
    ) -> Self {
        Self::start_as(scenario, server, |home, _| prepare(home)).await
    }

    /// The same with a custom configuration of the agent.
    pub(crate) async fn start_as(
        scenario: Scenario,
        server: &HookServer,
        prepare: impl FnOnce(&Home, &mut DialogueConfiguration),
    ) -> Self {
        let agent = Agent::for_test();
        let home = Home::new().expect("a temporary home");
        let events = server.subscribe();
        let api = MessagesApi::start(scenario.script).expect("a scripted API");
        let mut env = environment(&home, &api);
        for (name, value) in server.environment("turn").expect("variables") {
            env.set(name, value.expose_secret());
        }
        let settings = server.settings_for("turn", agent.version());
        let settings = settings.expect("settings").to_string();
        let mut configuration = DialogueConfiguration {
            program: agent.executable().into(),
            env,
            cwd: Some(home.project()),
            ..DialogueConfiguration::default()
        };
        configuration.options.settings = Some(AgentDocument::Json(settings));
        if scenario.args.contains(&"--allowedTools") {
            configuration.allowed_tools = vec!["Bash".to_owned()];
        }
        prepare(&home, &mut configuration);
        let session = within("start", DialogueSession::start(configuration)).await;
        Self {
            api,
            session: session.expect("the agent starts"),
            events,
            prompt: scenario.prompts[0],
            home,
        }
    }

    /// The agent's working directory.
    pub(crate) fn project(&self) -> PathBuf {
        self.home.project()
    }

    pub(crate) async fn ask(&self) -> bowline_lifecycle::Receipt {
        let sent = self.session.send(Prompt::text(self.prompt)).await;
        sent.expect("the prompt is sent")
    }

    /// Returns every event up to the first of this kind, which is the last of them.
    pub(crate) async fn received(&mut self, kind: HookKind) -> Vec<HookEvent> {
        let mut events = Vec::new();
        within("a hook", async {
            while events
                .last()
                .is_none_or(|event: &HookEvent| event.kind != kind)
            {
                match self.events.next().await {
                    Some(HookEventItem::Event(event)) => events.push(*event),
                    Some(_) => {}
                    None => panic!("no {kind:?} in {:?}", names(&events)),
                }
            }
        })
        .await;
        events
    }

    /// Sends a prompt, waits for the answer, ends the session, and returns the transcript and every
    /// event.
    pub(crate) async fn one_turn(self) -> (Value, Vec<HookEvent>) {
        let mut receipt = self.ask().await;
        within("an answer", receipt.settled()).await;
        self.finish().await
    }

    pub(crate) async fn finish(mut self) -> (Value, Vec<HookEvent>) {
        let end = within("the end", self.session.end()).await;
        assert!(end.expected && end.report.survivors.is_empty(), "{end:?}");
        // The port may have been that of another test's hook server, whose agent still posts there.
        let project = self.home.project();
        let is_of_other = |body: &Value| body["cwd"].as_str().is_some_and(|cwd| project != *cwd);
        let mut unknown = self.api.unknown();
        unknown.retain(|it| !is_of_other(&it.body));
        assert!(
            unknown.is_empty(),
            "requests outside of the script: {unknown:?}"
        );
        let transcript = transcript(&self.session).await;
        (transcript, all_events(&mut self.events).await)
    }
}

/// Returns every event up to the end of the session, which a hook reports before the process exits.
pub(crate) async fn all_events(subscription: &mut HookSubscription) -> Vec<HookEvent> {
    let mut events = Vec::new();
    while let Ok(Some(HookEventItem::Event(event))) =
        tokio::time::timeout(Duration::from_secs(5), subscription.next()).await
    {
        let is_last = event.kind == HookKind::SessionEnd;
        events.push(*event);
        if is_last {
            break;
        }
    }
    events
}

/// Names of the events, in order.
pub(crate) fn names(events: &[HookEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.name()).collect()
}
