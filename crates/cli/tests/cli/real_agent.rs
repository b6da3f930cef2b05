//! The command with the real agent, against a scripted API on loopback.
//!
//! A machine that cannot install the agent leaves these tests out by name:
//! `BOWLINE_SKIP_REAL_AGENT=1`.

use std::process::{Child, Command};

use bowline_tests::real_agent::scenario::{self, PLAIN_TEXT, TOOL_GATE};
use bowline_tests::real_agent::{Agent, Home, Lanes, MessagesApi, Reply, Scenario};
use bowline_tests::session::within;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Done, command, finish};
use crate::terminal::Seat;

/// The agent, its home and what it talks to.
struct Stage {
    agent: Agent,
    home: Home,
    api: MessagesApi,
}

impl Stage {
    fn new(scenario: Scenario) -> Option<Self> {
        let agent = Agent::for_test()?;
        Some(Self {
            agent,
            home: Home::new().unwrap(),
            api: MessagesApi::start(scenario.script).unwrap(),
        })
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

    async fn run(&self, more: &[&str]) -> Done {
        let child = self.start(more);
        tokio::task::spawn_blocking(move || finish(child))
            .await
            .unwrap()
    }

    /// The processes that have this home in their environment.
    fn left(&self) -> Vec<u32> {
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
async fn a_turn_is_shown_and_the_next_one_resumes_it() {
    let mut scenario = scenario::plain();
    scenario.script = Lanes::main([Reply::text(PLAIN_TEXT), Reply::text("The second answer.")]);
    let Some(stage) = Stage::new(scenario) else {
        return;
    };
    let first = stage
        .run(&["--output=transcript", "say something"])
        .await
        .ok();
    let transcript: Value = serde_json::from_str(&first).unwrap();
    let conversation = transcript["session_id"].as_str().unwrap();
    assert!(first.contains(PLAIN_TEXT), "{first}");
    assert!(stage.home.has_session(conversation));
    let second = stage.run(&["--resume", conversation, "and then?"]).await;
    let second = second.ok();
    assert!(second.contains("\nThe second answer.\n"), "{second}");
    assert!(second.contains("$"), "what it cost: {second}");
    let asked = stage.api.scripted().pop().unwrap();
    let asked = asked.body.to_string();
    assert!(asked.contains("say something"), "the model knows the first");
    assert_eq!(stage.left(), [0; 0]);
}

#[tokio::test]
async fn an_api_that_refuses_is_a_failure_that_says_so() {
    let Some(stage) = Stage::new(scenario::bad_request()) else {
        return;
    };
    let done = stage.run(&["say something"]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stdout.contains("scripted: bad request"), "{done:?}");
    assert_eq!(stage.left(), [0; 0]);
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_the_tool() {
    let Some(stage) = Stage::new(scenario::long_tool()) else {
        return;
    };
    let child = stage.start(&["--allowed-tools=Bash", "run something long"]);
    within("a tool", stage.api.gate(TOOL_GATE).reached()).await;
    interrupt(&child);
    let done = tokio::task::spawn_blocking(move || finish(child)).await;
    let done = done.unwrap();
    assert_eq!(done.code, Some(130), "{done:?}");
    assert_eq!(stage.left(), [0; 0]);
}

#[tokio::test]
async fn two_interrupts_leave_nothing_behind() {
    let Some(stage) = Stage::new(scenario::long_tool()) else {
        return;
    };
    let child = stage.start(&["--allowed-tools=Bash", "run something long"]);
    within("a tool", stage.api.gate(TOOL_GATE).reached()).await;
    interrupt(&child);
    interrupt(&child);
    let done = tokio::task::spawn_blocking(move || finish(child)).await;
    let done = done.unwrap();
    assert_eq!(done.code, Some(130), "{done:?}");
    assert_eq!(stage.left(), [0; 0]);
}

#[tokio::test]
async fn a_person_at_the_terminal_is_asked_and_the_answer_counts() {
    let Some(stage) = Stage::new(scenario::permission(std::path::Path::new("."))) else {
        return;
    };
    let environment = stage.home.environment(&stage.api);
    let line = stage.line(&["write a file"]);
    let mut seat = Seat::at(line, environment, Some(stage.home.project()));
    seat.until("[y]es, [n]o").await;
    seat.type_in("y\n").await;
    seat.forget();
    seat.until("[y]es, [n]o").await;
    seat.type_in("n\n").await;
    let (seen, status) = seat.finish().await;
    assert!(seen.contains("Both were answered."), "{seen}");
    assert_eq!(status, bowline_transport::ExitStatus::Code(0));
    let project = stage.home.project();
    assert!(project.join("permitted.txt").exists());
    assert!(!project.join("touched").exists());
    assert_eq!(stage.left(), [0; 0]);
}
