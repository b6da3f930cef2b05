//! A conversation of the real agent in tmux(1), over two terminals.

use std::process::Stdio;

use bowline_tests::real_agent::scenario::{STREAM_GATE, TOOL_CALL, TOOL_GATE, wait_at_gate};
use bowline_tests::real_agent::{Agent, Home, Lanes, MessagesApi, Reply};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use super::AgentSetup;
use crate::screen_model::order;
use crate::started_runner::StartedRunner;
use crate::support::{BOWLINE, TIMEOUT, command, finish};

/// What the conversation prints, each once and in this order.
const MARKS: [&str; 19] = [
    "> prompt one",
    "Answer one.",
    "> prompt two",
    "Answer two, allowed.",
    "> prompt three",
    "Answer three.",
    "> prompt four",
    "Answer four.",
    "> prompt five",
    "> prompt six",
    "Answer six.",
    "> prompt seven",
    "Answer seven.",
    "> prompt eight",
    "Answer eight, allowed.",
    "> prompt nine",
    "Answer nine.",
    "> prompt ten",
    "Answer ten.",
];

fn write(id: &str, file: &str) -> Reply {
    let input = json!({"file_path": file, "content": "permitted\n"});
    Reply::tool(id, "Write", input)
}

/// The replies to ten prompts, of which the fifth is interrupted.
fn replies(project: &std::path::Path) -> Vec<Reply> {
    let file = |name: &str| project.join(name).display().to_string();
    let command = json!({"command": wait_at_gate(TOOL_GATE), "description": "Wait"});
    vec![
        Reply::text("Answer one."),
        write(TOOL_CALL, &file("two")),
        Reply::text("Answer two, allowed."),
        Reply::text("Answer three.").hold_after(2, STREAM_GATE),
        Reply::text("Answer four."),
        Reply::tool("toolu_five", "Bash", command),
        Reply::text("Answer six."),
        Reply::text("Answer seven."),
        write("toolu_eight", &file("eight")),
        Reply::text("Answer eight, allowed."),
        Reply::text("Answer nine."),
        Reply::text("Answer ten."),
    ]
}

/// A server of tmux with windows, and a client that hears when one of them prints something.
struct Tmux {
    socket: String,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    client: Child,
    events: Lines<BufReader<ChildStdout>>,
}

impl Tmux {
    /// Starts a server whose first window, `0`, runs a command of bowline.
    async fn start(setup: &AgentSetup, line: &[&str]) -> Self {
        let mut environment = setup.home.environment(&setup.api);
        let state = setup.home.root().join("state");
        environment.push(("BOWLINE_STATE_DIR".into(), state.into()));
        environment.push(("TERM".into(), "xterm-256color".into()));
        environment.push(("USER".into(), "ann".into()));
        let socket = setup.home.root().join("tmux").display().to_string();
        let project = setup.home.project().display().to_string();
        let tmux = |args: &[&str]| {
            let mut command = Command::new("tmux");
            command.args(["-S", &socket, "-f", "/dev/null"]).args(args);
            command.env_clear().envs(environment.iter().cloned());
            command
        };
        let size = ["-x", "100", "-y", "30", "-c", &project];
        let mut begin = tmux(&["new-session", "-d", "-s", "main"]);
        begin.args(size).arg(BOWLINE).args(line);
        let begun = begin.status().await;
        assert!(begun.expect("tmux is installed").success());
        let set = tmux(&["set-option", "-g", "remain-on-exit", "on"])
            .status()
            .await;
        assert!(set.unwrap().success());
        let mut client = tmux(&["-C", "attach-session", "-t", "main"]);
        client.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = client.kill_on_drop(true).spawn().unwrap();
        let events = BufReader::new(client.stdout.take().unwrap()).lines();
        Self {
            socket,
            environment,
            client,
            events,
        }
    }

    async fn run(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]).args(args);
        command.env_clear().envs(self.environment.iter().cloned());
        let output = command.output().await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns what a window shows, with what has scrolled away; wrapped lines are joined.
    async fn text(&self, window: &str) -> String {
        let target = format!("main:{window}");
        self.run(&["capture-pane", "-p", "-J", "-S", "-", "-t", &target])
            .await
    }

    /// Waits until a window shows what is wanted.
    async fn until(&mut self, window: &str, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let waited = timeout(TIMEOUT, async {
            loop {
                let text = self.text(window).await;
                if is_it(&text) {
                    return text;
                }
                // A line for each output of a window.
                self.events.next_line().await.unwrap().expect("tmux runs");
            }
        });
        match waited.await {
            Ok(text) => text,
            Err(_) => panic!("{what} is not shown:\n{}", self.text(window).await),
        }
    }

    async fn shows(&mut self, window: &str, text: &str) -> String {
        self.until(window, text, |shown| shown.contains(text)).await
    }

    async fn keys(&self, window: &str, keys: &[&str]) {
        let target = format!("main:{window}");
        let send = ["send-keys", "-t", &target];
        self.run(&[&send[..], keys].concat()).await;
    }

    async fn line(&self, window: &str, text: &str) {
        self.keys(window, &["-l", text]).await;
        self.keys(window, &["Enter"]).await;
    }

    /// Enters a prompt, and waits until its turn has ended.
    async fn turn(&mut self, window: &str, prompt: &str, answer: &str) {
        self.line(window, prompt).await;
        let is_done = |text: &str| {
            let answered = text.split_once(answer);
            answered.is_some_and(|(_, rest)| rest.contains("✓ done after"))
        };
        self.until(window, answer, is_done).await;
    }

    /// Opens a window that runs a command of bowline.
    async fn open(&self, line: &[&str]) {
        let open = ["new-window", "-d", "-t", "main", BOWLINE];
        self.run(&[&open[..], line].concat()).await;
    }

    /// Ends the server.
    async fn end(mut self) {
        self.run(&["kill-server"]).await;
        let _ = self.client.wait().await;
    }
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn conversation_continues_in_another_window() {
    let home = Home::new().unwrap();
    let script = Lanes::main(replies(&home.project()));
    let setup = AgentSetup {
        agent: Agent::for_test(),
        home,
        api: MessagesApi::start(script).unwrap(),
    };
    let agent = setup.agent.executable().display().to_string();
    let line = ["chat", "--agent", &agent, "--allowed-tools=Bash"];
    let mut tmux = Tmux::start(&setup, &line).await;
    tmux.shows("0", "> ").await;
    let socket = setup.home.root().join("state/runner.sock");
    let _runner = StartedRunner::at(&socket);
    tmux.turn("0", "prompt one", "Answer one.").await;

    // A permission, a prompt that is queued, and an interrupt.
    tmux.line("0", "prompt two").await;
    tmux.shows("0", "[r]eason").await;
    tmux.keys("0", &["y"]).await;
    tmux.shows("0", "Answer two, allowed.").await;
    tmux.line("0", "prompt three").await;
    setup.api.gate(STREAM_GATE).reached().await;
    tmux.line("0", "/queue add prompt four").await;
    tmux.shows("0", "… queued 1: prompt four").await;
    setup.api.gate(STREAM_GATE).open();
    tmux.until("0", "Answer four.", |text| {
        let answered = text.split_once("Answer four.");
        answered.is_some_and(|(_, rest)| rest.contains("✓ done after"))
    })
    .await;
    tmux.line("0", "prompt five").await;
    setup.api.gate(TOOL_GATE).reached().await;
    tmux.keys("0", &["C-c"]).await;
    tmux.shows("0", "⊘ interrupted after").await;

    // 40 columns, and away.
    tmux.run(&["resize-window", "-t", "main:0", "-x", "40", "-y", "20"])
        .await;
    tmux.turn("0", "prompt six", "Answer six.").await;
    tmux.line("0", "/detach").await;
    let left = tmux.shows("0", "detached from ").await;
    let id = left.split("detached from ").nth(1).unwrap();
    let id = id.split(';').next().unwrap().to_owned();

    // Two other windows: the second one answers, and the first is killed.
    for _ in 0..2 {
        tmux.open(&["attach", &id]).await;
    }
    for window in ["1", "2"] {
        tmux.shows(window, "Answer six.").await;
    }
    tmux.turn("1", "prompt seven", "Answer seven.").await;
    tmux.line("1", "prompt eight").await;
    tmux.shows("2", "[r]eason").await;
    tmux.keys("2", &["y"]).await;
    for window in ["1", "2"] {
        tmux.shows(window, "Answer eight, allowed.").await;
    }
    tmux.turn("1", "prompt nine", "Answer nine.").await;
    let pid = tmux
        .run(&["display-message", "-p", "-t", "main:1", "#{pane_pid}"])
        .await;
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    tmux.turn("2", "prompt ten", "Answer ten.").await;

    // A new window shows the same as the one that stayed.
    tmux.open(&["attach", &id]).await;
    let fresh = tmux.shows("3", "Answer ten.").await;
    let shown = order(&fresh, &MARKS);
    assert_eq!(shown.len(), MARKS.len(), "{fresh}");
    assert_eq!(order(&tmux.text("2").await, &MARKS), shown);
    let project = setup.home.project();
    assert!(project.join("two").exists() && project.join("eight").exists());

    tmux.end().await;
    let mut kill = command(&["kill", &id]);
    kill.env("BOWLINE_STATE_DIR", setup.home.root().join("state"));
    let killed = tokio::task::spawn_blocking(move || finish(kill.spawn().unwrap()));
    killed.await.unwrap().ok();
}
