//! `bowline run` on a terminal: permission prompts, colours, the status line.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;

use bowline_transport::{
    Configuration, ExitStatus, LogReader, Piece, PtyMode, Stdio, Stream, TerminalEngine,
    TerminalSession, WindowSize,
};

use crate::support::{BOWLINE, ScriptedAgent, TIMEOUT};

const ASKS: &str = r#"
[[turn]]
steps = [
  { tool = { name = "Bash", input = { command = "rm x\nrm y" }, ask = true, result = "ran {{input.command}}",
    allowed = [ { text = "It is gone." } ], denied = [ { text = "It is still there." } ] } },
]
"#;

const QUESTION: &str = r#"
[[turn]]
steps = [
  { tool = { name = "AskUserQuestion", ask = true, result = "answers {{input.answers}}",
    input = { questions = [ { question = "Which colour?", header = "Colour", multiSelect = false,
      options = [ { label = "Red", description = "warm" }, { label = "Blue", description = "cold" } ] } ] } } },
  { text = "Noted." },
]
"#;

/// A command on a terminal of its own.
pub(crate) struct TerminalCommand {
    terminal: TerminalSession,
    reader: LogReader,
    seen: String,
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future)
        .await
        .expect("done in time")
}

impl TerminalCommand {
    fn run(scripted: &ScriptedAgent, more: &[&str], set: &[(&str, &str)]) -> Self {
        let set = set.iter().map(|&(name, value)| (name.into(), value.into()));
        Self::bowline(scripted.line(more), set.collect(), None)
    }

    /// Runs `bowline` with these arguments and additional variables.
    pub(crate) fn bowline(
        line: Vec<String>,
        set: Vec<(OsString, OsString)>,
        cwd: Option<PathBuf>,
    ) -> Self {
        Self::program(BOWLINE, line, set, cwd)
    }

    /// Runs another program.
    pub(crate) fn program(
        program: &str,
        line: Vec<String>,
        set: Vec<(OsString, OsString)>,
        cwd: Option<PathBuf>,
    ) -> Self {
        let mut configuration = Configuration::new(program);
        configuration.args = line.into_iter().map(Into::into).collect();
        configuration.cwd = cwd;
        configuration.stdio = Stdio::Pty {
            size: WindowSize::new(24, 60),
            mode: PtyMode::Cooked,
        };
        configuration
            .env
            .set("BOWLINE", BOWLINE)
            .set("TERM", "xterm")
            .remove("NO_COLOR");
        for (name, value) in set {
            configuration.env.set(name, value);
        }
        let terminal = TerminalEngine.make_session(configuration).unwrap();
        let reader = terminal.reader(Stream::Output);
        Self {
            terminal,
            reader,
            seen: String::new(),
        }
    }

    /// Returns the id of the program's process.
    #[cfg(target_os = "linux")]
    pub(crate) fn pid(&self) -> u32 {
        self.terminal.pid().expect("it is a process here")
    }

    /// Discards the output so far.
    pub(crate) fn clear(&mut self) {
        self.seen.clear();
    }

    pub(crate) async fn until(&mut self, wanted: &str) {
        within(async {
            while !self.seen.contains(wanted) {
                assert!(self.read().await, "no {wanted:?} in {:?}", self.seen);
            }
        })
        .await;
    }

    async fn read(&mut self) -> bool {
        match self.reader.next().await {
            Some(Piece::Bytes { bytes, .. }) => {
                self.seen.push_str(&String::from_utf8_lossy(&bytes))
            }
            Some(Piece::Gap { .. }) => {}
            None => return false,
        }
        true
    }

    pub(crate) async fn type_keys(&self, keys: impl Into<bytes::Bytes>) {
        within(self.terminal.write(keys.into())).await.unwrap();
    }

    /// Signals the process group of the program, which is in the foreground unless it is a job shell.
    pub(crate) fn signal_group(&self, signal: rustix::process::Signal) {
        let leader = self.terminal.pid().and_then(|pid| i32::try_from(pid).ok());
        let leader = leader.and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process_group(leader, signal).unwrap();
    }

    /// Waits for the end; returns the output and the exit status.
    pub(crate) async fn finish(mut self) -> (String, ExitStatus) {
        within(async { while self.read().await {} }).await;
        let exit = within(self.terminal.exited()).await;
        (self.seen, exit.status)
    }
}

#[tokio::test]
async fn permission_is_asked_in_place() {
    let scripted = ScriptedAgent::new(ASKS);
    let mut command = TerminalCommand::run(&scripted, &["Remove it."], &[]);
    command.until("[y]es, [n]o").await;
    assert!(
        command
            .seen
            .contains("    command: \r\n      rm x\r\n      rm y\r\n"),
        "{}",
        command.seen
    );
    command.type_keys("perhaps\n").await;
    command.until("perhaps\r\n").await;
    command.type_keys("y\n").await;
    let (seen, status) = command.finish().await;
    assert!(seen.contains("It is gone."), "{seen}");
    assert_eq!(
        seen.matches("[y]es, [n]o").count(),
        2,
        "asked again: {seen}"
    );
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn denial_may_have_a_reason() {
    let scripted = ScriptedAgent::new(ASKS);
    let mut command = TerminalCommand::run(&scripted, &["Remove it."], &[]);
    command.until("[y]es, [n]o").await;
    command.type_keys("n keep it\n").await;
    let (seen, status) = command.finish().await;
    assert!(seen.contains("the user said no: keep it"), "{seen}");
    assert!(seen.contains("It is still there."), "{seen}");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn question_is_answered_by_number() {
    let scripted = ScriptedAgent::new(QUESTION);
    let mut command = TerminalCommand::run(&scripted, &["Paint it."], &[]);
    command.until("own words: ").await;
    assert!(
        command
            .seen
            .contains("    1. Red - warm\r\n    2. Blue - cold\r\n"),
        "{}",
        command.seen
    );
    command.type_keys("2\n").await;
    let (seen, status) = command.finish().await;
    assert!(
        seen.contains(r#"answers {"Which colour?":"Blue"}"#),
        "{seen}"
    );
    assert_eq!(status, ExitStatus::Code(0));
}

const PLAN: &str = r##"
[[turn]]
steps = [
  { tool = { name = "ExitPlanMode", ask = true, result = "approved", input = { plan = "# Paint\n\n1. it red" },
    allowed = [ { text = "I begin." } ], denied = [ { text = "I think again." } ] } },
]
"##;

#[tokio::test]
async fn plan_is_approved_or_rejected() {
    for (typed, expected) in [
        ("y\n", "I begin."),
        ("a\n", "I begin."),
        (
            "n make it blue\n",
            "the user wants another plan: make it blue",
        ),
    ] {
        let scripted = ScriptedAgent::new(PLAN);
        let mut command = TerminalCommand::run(&scripted, &["Plan it."], &[("NO_COLOR", "1")]);
        command
            .until("[y]es, yes and [a]ccept edits, [n]o and what to change: ")
            .await;
        assert!(
            command
                .seen
                .contains("  the plan\r\n    # Paint\r\n    \r\n    1. it red\r\n"),
            "{:?}",
            command.seen
        );
        command.type_keys(typed).await;
        let (seen, status) = command.finish().await;
        assert!(seen.contains(expected), "{typed:?}: {seen}");
        assert_eq!(status, ExitStatus::Code(0));
    }
}

/// The agent has answered, and then ignores its input, the end of it, and SIGTERM.
#[tokio::test]
async fn wait_for_exit_of_finished_agent_is_shown_and_bounded() {
    let result = "{ raw = { type = 'result', subtype = 'success', is_error = false, result = 'Done.', \
                  duration_ms = 1, num_turns = 1, total_cost_usd = 0.0, session_id = '{{session_id}}', \
                  uuid = '{{uuid}}' } }";
    let toml = format!(
        "[[turn]]\nsteps = [ {{ text = 'Done.' }}, {{ ignore_stdin = true }}, {result}, \
         {{ hang = {{ ignore_signals = true }} }} ]"
    );
    let scripted = ScriptedAgent::new(&toml);
    let mut command = TerminalCommand::run(&scripted, &["Go."], &[("NO_COLOR", "1")]);
    command.until("waiting for the agent to exit").await;
    let (_, status) = command.finish().await;
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn second_interrupt_key_ends_session() {
    let toml = "[[turn]]\nsteps = [ { ignore_stdin = true }, { text = \"One line.\\nAnd another.\" }, { hang = {} } ]";
    let scripted = ScriptedAgent::new(toml);
    let mut command = TerminalCommand::run(&scripted, &["Wait."], &[("NO_COLOR", "1")]);
    command.until("One line.").await;
    command.type_keys("\u{3}").await;
    command.until("press ^C again to end the session").await;
    command.type_keys("\u{3}").await;
    let (seen, status) = command.finish().await;
    assert!(seen.contains("ending the session…"), "{seen}");
    assert!(seen.contains("bowline: interrupted"), "{seen}");
    assert_eq!(status, ExitStatus::Code(130));
}

#[tokio::test]
async fn permissions_are_asked_one_by_one() {
    let ask = |id: &str| {
        format!(
            "{{ raw = {{ type = 'control_request', request_id = 'of {id}', request = {{ \
             subtype = 'can_use_tool', tool_name = 'Bash', input = {{ command = '{id}' }} }} }} }}"
        )
    };
    let toml = format!(
        "[[turn]]\nsteps = [ {}, {}, {{ wait_for = 'interrupt' }} ]",
        ask("one"),
        ask("two")
    );
    let scripted = ScriptedAgent::new(&toml);
    let mut command = TerminalCommand::run(&scripted, &["Both."], &[("NO_COLOR", "1")]);
    command.until("command: one\r\n  [y]es, [n]o: ").await;
    assert!(!command.seen.contains("command: two"), "{}", command.seen);
    command.type_keys("y\n").await;
    command.until("command: two\r\n  [y]es, [n]o: ").await;
    command.type_keys("n\n").await;
    command.until("? Bash was denied").await;
    command.type_keys("\u{3}").await;
    let (_, status) = command.finish().await;
    assert_eq!(status, ExitStatus::Code(0));
}

/// Suggestions that are not an array of rules are not offered.
#[tokio::test]
async fn always_is_offered_for_rules_only() {
    let toml = "[[turn]]\nsteps = [ { request = { request = { subtype = 'can_use_tool', tool_name = 'Bash', \
        tool_use_id = 'toolu_1', input = { command = 'ls' }, permission_suggestions = { type = 'setMode' } } } }, \
        { text = 'I went on.' } ]";
    let scripted = ScriptedAgent::new(toml);
    let mut command = TerminalCommand::run(&scripted, &["List."], &[("NO_COLOR", "1")]);
    command.until("[y]es, [n]o: ").await;
    command.type_keys("a\n").await;
    command.until("a\r\n  [y]es, [n]o: ").await;
    command.type_keys("y\n").await;
    let (seen, status) = command.finish().await;
    assert!(seen.contains("I went on."), "{seen}");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn withdrawn_permission_is_closed() {
    let toml = "[[turn]]\nsteps = [ { tool = { name = 'Bash', input = { command = 'ls' }, ask = true, \
        withdraw_ms = 300, result = 'x' } }, { text = 'I went on.' } ]";
    let scripted = ScriptedAgent::new(toml);
    let more = ["--agent-arg", "--pace=1", "List."];
    let (seen, status) = TerminalCommand::run(&scripted, &more, &[("NO_COLOR", "1")])
        .finish()
        .await;
    let asked = seen.rfind("[a]lways: ").unwrap();
    let closed = seen
        .find("? Bash request was withdrawn by the agent\r\n")
        .unwrap();
    assert!(asked < closed && seen.contains("I went on."), "{seen}");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn permission_is_asked_on_stderr_for_json_output() {
    let scripted = ScriptedAgent::new(ASKS);
    let mut command =
        TerminalCommand::run(&scripted, &["--output", "transcript", "Remove it."], &[]);
    command.until("[y]es, [n]o").await;
    command.type_keys("y\n").await;
    let (seen, status) = command.finish().await;
    let json = seen.split_once("\r\n{").unwrap().1;
    let transcript = crate::support::json(&format!("{{{json}"));
    assert_eq!(transcript["permissions"][0]["state"], "allowed");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn interrupt_key_stops_the_tool() {
    let toml = "[[turn]]\nsteps = [ { tool = { name = 'Bash', input = { command = 'sleep' }, duration_ms = 600000 } } ]";
    let scripted = ScriptedAgent::new(toml);
    let more = ["--agent-arg", "--pace=1", "Wait."];
    let mut command = TerminalCommand::run(&scripted, &more, &[("NO_COLOR", "1")]);
    // The status line shows the running tool.
    command.until("⠹ Bash").await;
    command.type_keys("\u{3}").await;
    let (seen, status) = command.finish().await;
    assert!(seen.contains("⊘ interrupted after "), "{seen}");
    assert_eq!(status, ExitStatus::Code(130));
}

#[tokio::test]
async fn colours_follow_no_color_and_term() {
    let toml = "[[turn]]\nsteps = [ { thinking = 'Hm.' }, { text = \"a \\u001b[31mred\\u001b[0m b\" }, \
        { tool = { name = 'Bash', input = { command = 'ls' }, result = 'x' } } ]";
    let scripted = ScriptedAgent::new(toml);
    let (seen, _) = TerminalCommand::run(&scripted, &["hi"], &[]).finish().await;
    assert!(
        seen.contains("\x1b[36m● \x1b[0m") && !seen.contains("\x1b[31m"),
        "{seen:?}"
    );
    assert!(seen.contains("a red b"), "{seen:?}");
    for set in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let (seen, _) = TerminalCommand::run(&scripted, &["hi"], &[set])
            .finish()
            .await;
        assert!(
            seen.contains("a red b") && !seen.contains('\x1b'),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn text_wraps_between_words() {
    let toml = "[[turn]]\nsteps = [ { text = 'The quick brown fox jumps over the lazy dog, which has seen all of this \
        before and wonders when it will end.' } ]";
    let scripted = ScriptedAgent::new(toml);
    let (seen, _) = TerminalCommand::run(&scripted, &["hi"], &[("NO_COLOR", "1")])
        .finish()
        .await;
    let wanted = "The quick brown fox jumps over the lazy dog, which has seen\r\nall of this before and wonders when it will end.\r\n";
    assert!(seen.contains(wanted), "{seen:?}");
}
