//! The command with the real agent and a scripted API on loopback.
//!
//! Run by `.ci/agents`, which `cargo test` does not need.

mod tmux;

use std::process::{Child, Command};

use bowline_tests::real_agent::scenario::{self, PLAIN_TEXT, TOOL_GATE};
use bowline_tests::real_agent::{Agent, Home, Lanes, MessagesApi, Reply, Scenario};
use bowline_tests::session::within;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{CommandOutput, command, finish};
use crate::terminal::TerminalCommand;

/// The agent, its home folder and the API that it uses.
struct AgentSetup {
    agent: Agent,
    home: Home,
    api: MessagesApi,
}

impl AgentSetup {
    fn new(scenario: Scenario) -> Self {
        let agent = Agent::for_test();
        Self {
            agent,
            home: Home::new().unwrap(),
            api: MessagesApi::start(scenario.script).unwrap(),
        }
    }

    fn line(&self, more: &[&str]) -> Vec<String> {
        let agent = self.agent.executable().display().to_string();
        let fixed = ["run", "--agent", &agent];
        let line = fixed.iter().chain(more);
        line.map(|&word| word.to_owned()).collect()
    }

    fn command(&self, more: &[&str]) -> Command {
        let line = self.line(more);
        let mut command = command(&line.iter().map(String::as_str).collect::<Vec<_>>());
        command.env_clear().envs(self.home.environment(&self.api));
        command.current_dir(self.home.project());
        command
    }

    fn start(&self, more: &[&str]) -> Child {
        self.command(more).spawn().unwrap()
    }

    async fn run(&self, more: &[&str]) -> CommandOutput {
        let child = self.start(more);
        tokio::task::spawn_blocking(move || finish(child))
            .await
            .unwrap()
    }

    /// Returns the processes with this home folder in their environment.
    fn processes(&self) -> Vec<u32> {
        let home = self.home.path().display().to_string();
        let mark = format!("HOME={home}\0");
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ"));
            environment.is_ok_and(|it| String::from_utf8_lossy(&it).contains(&mark))
        })
        .collect()
    }
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn second_run_resumes_the_conversation() {
    let mut scenario = scenario::plain();
    scenario.script = Lanes::main([Reply::text(PLAIN_TEXT), Reply::text("The second answer.")]);
    let setup = AgentSetup::new(scenario);
    let first = setup
        .run(&["--output=transcript", "say something"])
        .await
        .ok();
    let transcript: Value = serde_json::from_str(&first).unwrap();
    let conversation = transcript["session_id"].as_str().unwrap();
    assert!(first.contains(PLAIN_TEXT), "{first}");
    assert!(setup.home.has_session(conversation));
    let second = setup.run(&["--resume", conversation, "and then?"]).await;
    let second = second.ok();
    assert!(second.contains("\nThe second answer.\n"), "{second}");
    assert!(second.contains("$"), "the cost: {second}");
    let asked = setup.api.scripted().pop().unwrap();
    let asked = asked.body.to_string();
    assert!(
        asked.contains("say something"),
        "the first prompt is in the request"
    );
    assert_eq!(setup.processes(), [0; 0]);
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn api_refusal_is_reported() {
    let setup = AgentSetup::new(scenario::bad_request());
    let done = setup.run(&["say something"]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stdout.contains("scripted: bad request"), "{done:?}");
    assert_eq!(setup.processes(), [0; 0]);
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn interrupt_ends_turn_and_tool() {
    let setup = AgentSetup::new(scenario::long_tool());
    let child = setup.start(&["--allowed-tools=Bash", "run something long"]);
    within("a tool", setup.api.gate(TOOL_GATE).reached()).await;
    interrupt(&child);
    let done = tokio::task::spawn_blocking(move || finish(child)).await;
    let done = done.unwrap();
    assert_eq!(done.code, Some(130), "{done:?}");
    assert_eq!(setup.processes(), [0; 0]);
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn two_interrupts_leave_no_process() {
    let setup = AgentSetup::new(scenario::long_tool());
    let child = setup.start(&["--allowed-tools=Bash", "run something long"]);
    within("a tool", setup.api.gate(TOOL_GATE).reached()).await;
    interrupt(&child);
    interrupt(&child);
    let done = tokio::task::spawn_blocking(move || finish(child)).await;
    let done = done.unwrap();
    assert_eq!(done.code, Some(130), "{done:?}");
    assert_eq!(setup.processes(), [0; 0]);
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn typed_permission_answer_is_applied() {
    let setup = AgentSetup::new(scenario::permission(std::path::Path::new(".")));
    let environment = setup.home.environment(&setup.api);
    let line = setup.line(&["write a file"]);
    let mut command = TerminalCommand::bowline(line, environment, Some(setup.home.project()));
    command.until("[y]es, [n]o").await;
    command.type_keys("y\n").await;
    command.clear();
    command.until("[y]es, [n]o").await;
    command.type_keys("n\n").await;
    let (seen, status) = command.finish().await;
    assert!(seen.contains("Both were answered."), "{seen}");
    assert_eq!(status, bowline_transport::ExitStatus::Code(0));
    let project = setup.home.project();
    assert!(project.join("permitted.txt").exists());
    assert!(!project.join("touched").exists());
    assert_eq!(setup.processes(), [0; 0]);
}
