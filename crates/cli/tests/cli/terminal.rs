//! On a terminal: questions in place, colour, the line at the bottom.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;

use bowline_transport::{
    Configuration, ExitStatus, LogReader, Piece, PtyMode, Signal, Stdio, Stream, TerminalEngine,
    TerminalSession, WindowSize,
};

use crate::support::{BOWLINE, PATIENCE, Scripted};

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

/// The command on a terminal of its own.
pub(crate) struct Seat {
    terminal: TerminalSession,
    reader: LogReader,
    seen: String,
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("done within a minute")
}

impl Seat {
    fn take(scripted: &Scripted, more: &[&str], set: &[(&str, &str)]) -> Self {
        let set = set.iter().map(|&(name, value)| (name.into(), value.into()));
        Self::at(scripted.line(more), set.collect(), None)
    }

    /// The command with these arguments and, beside what is inherited, these variables.
    pub(crate) fn at(
        line: Vec<String>,
        set: Vec<(OsString, OsString)>,
        cwd: Option<PathBuf>,
    ) -> Self {
        Self::of(BOWLINE, line, set, cwd)
    }

    /// Another program, in the same way.
    pub(crate) fn of(
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

    /// Forgets what was printed so far.
    pub(crate) fn forget(&mut self) {
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

    pub(crate) async fn type_in(&self, keys: &'static str) {
        within(self.terminal.write(keys.into())).await.unwrap();
    }

    /// Signals whatever has the terminal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.terminal.signal(signal).unwrap();
    }

    /// Everything that was printed, and the exit code.
    pub(crate) async fn finish(mut self) -> (String, ExitStatus) {
        within(async { while self.read().await {} }).await;
        let exit = within(self.terminal.exited()).await;
        (self.seen, exit.status)
    }
}

#[tokio::test]
async fn a_permission_is_asked_in_place() {
    let scripted = Scripted::new(ASKS);
    let mut seat = Seat::take(&scripted, &["Remove it."], &[]);
    seat.until("[y]es, [n]o").await;
    assert!(
        seat.seen
            .contains("    command: \r\n      rm x\r\n      rm y\r\n"),
        "{}",
        seat.seen
    );
    seat.type_in("perhaps\n").await;
    seat.until("perhaps\r\n").await;
    seat.type_in("y\n").await;
    let (seen, status) = seat.finish().await;
    assert!(seen.contains("It is gone."), "{seen}");
    assert_eq!(
        seen.matches("[y]es, [n]o").count(),
        2,
        "asked again: {seen}"
    );
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn no_is_an_answer_and_may_say_why() {
    let scripted = Scripted::new(ASKS);
    let mut seat = Seat::take(&scripted, &["Remove it."], &[]);
    seat.until("[y]es, [n]o").await;
    seat.type_in("n keep it\n").await;
    let (seen, status) = seat.finish().await;
    assert!(seen.contains("the user said no: keep it"), "{seen}");
    assert!(seen.contains("It is still there."), "{seen}");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn a_question_is_answered_by_number() {
    let scripted = Scripted::new(QUESTION);
    let mut seat = Seat::take(&scripted, &["Paint it."], &[]);
    seat.until("own words: ").await;
    assert!(
        seat.seen
            .contains("    1. Red - warm\r\n    2. Blue - cold\r\n"),
        "{}",
        seat.seen
    );
    seat.type_in("2\n").await;
    let (seen, status) = seat.finish().await;
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
async fn a_plan_is_shown_and_judged() {
    for (typed, said) in [
        ("y\n", "I begin."),
        ("a\n", "I begin."),
        (
            "n make it blue\n",
            "the user wants another plan: make it blue",
        ),
    ] {
        let scripted = Scripted::new(PLAN);
        let mut seat = Seat::take(&scripted, &["Plan it."], &[("NO_COLOR", "1")]);
        seat.until("[y]es, yes and [a]ccept edits, [n]o and what to change: ")
            .await;
        assert!(
            seat.seen
                .contains("  the plan\r\n    # Paint\r\n    \r\n    1. it red\r\n"),
            "{:?}",
            seat.seen
        );
        seat.type_in(typed).await;
        let (seen, status) = seat.finish().await;
        assert!(seen.contains(said), "{typed:?}: {seen}");
        assert_eq!(status, ExitStatus::Code(0));
    }
}

#[tokio::test]
async fn a_key_twice_ends_the_session() {
    let toml =
        "[[turn]]\nsteps = [ { text = \"One line.\\nAnd another.\" }, { hang = { deaf = true } } ]";
    let scripted = Scripted::new(toml);
    let mut seat = Seat::take(&scripted, &["Wait."], &[("NO_COLOR", "1")]);
    seat.until("One line.").await;
    seat.type_in("\u{3}").await;
    seat.until("once more ends the session").await;
    seat.type_in("\u{3}").await;
    let (seen, status) = seat.finish().await;
    assert!(seen.contains("ending the session…"), "{seen}");
    assert!(seen.contains("bowline: interrupted"), "{seen}");
    assert_eq!(status, ExitStatus::Code(130));
}

#[tokio::test]
async fn two_questions_are_asked_one_after_the_other() {
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
    let scripted = Scripted::new(&toml);
    let mut seat = Seat::take(&scripted, &["Both."], &[("NO_COLOR", "1")]);
    seat.until("command: one\r\n  [y]es, [n]o: ").await;
    assert!(!seat.seen.contains("command: two"), "{}", seat.seen);
    seat.type_in("y\n").await;
    seat.until("command: two\r\n  [y]es, [n]o: ").await;
    seat.type_in("n\n").await;
    seat.until("? Bash was denied").await;
    seat.type_in("\u{3}").await;
    let (_, status) = seat.finish().await;
    assert_eq!(status, ExitStatus::Code(0));
}

/// Suggestions that are no rules cannot be allowed: they are not offered, and asking for them is
/// no answer.
#[tokio::test]
async fn always_is_offered_for_rules_alone() {
    let toml = "[[turn]]\nsteps = [ { request = { request = { subtype = 'can_use_tool', tool_name = 'Bash', \
        tool_use_id = 'toolu_1', input = { command = 'ls' }, permission_suggestions = { type = 'setMode' } } } }, \
        { text = 'I went on.' } ]";
    let scripted = Scripted::new(toml);
    let mut seat = Seat::take(&scripted, &["List."], &[("NO_COLOR", "1")]);
    seat.until("[y]es, [n]o: ").await;
    seat.type_in("a\n").await;
    seat.until("a\r\n  [y]es, [n]o: ").await;
    seat.type_in("y\n").await;
    let (seen, status) = seat.finish().await;
    assert!(seen.contains("I went on."), "{seen}");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn a_question_that_is_taken_back_is_closed() {
    let toml = "[[turn]]\nsteps = [ { tool = { name = 'Bash', input = { command = 'ls' }, ask = true, \
        withdraw_ms = 300, result = 'x' } }, { text = 'I went on.' } ]";
    let scripted = Scripted::new(toml);
    let more = ["--agent-arg", "--pace=1", "List."];
    let (seen, status) = Seat::take(&scripted, &more, &[("NO_COLOR", "1")])
        .finish()
        .await;
    let asked = seen.rfind("[a]lways: ").unwrap();
    let closed = seen
        .find("? Bash asks no more: the agent took the question back\r\n")
        .unwrap();
    assert!(asked < closed && seen.contains("I went on."), "{seen}");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn the_question_of_a_machine_s_form_is_for_people() {
    let scripted = Scripted::new(ASKS);
    let mut seat = Seat::take(&scripted, &["--output", "transcript", "Remove it."], &[]);
    seat.until("[y]es, [n]o").await;
    seat.type_in("y\n").await;
    let (seen, status) = seat.finish().await;
    let json = seen.split_once("\r\n{").unwrap().1;
    let transcript = crate::support::json(&format!("{{{json}"));
    assert_eq!(transcript["permissions"][0]["state"], "allowed");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn a_key_interrupts() {
    let toml = "[[turn]]\nsteps = [ { tool = { name = 'Bash', input = { command = 'sleep' }, duration_ms = 600000 } } ]";
    let scripted = Scripted::new(toml);
    let more = ["--agent-arg", "--pace=1", "Wait."];
    let mut seat = Seat::take(&scripted, &more, &[("NO_COLOR", "1")]);
    // The line at the bottom tells what runs.
    seat.until("⠹ Bash").await;
    seat.type_in("\u{3}").await;
    let (seen, status) = seat.finish().await;
    assert!(seen.contains("⊘ interrupted after "), "{seen}");
    assert_eq!(status, ExitStatus::Code(130));
}

#[tokio::test]
async fn colour_is_for_terminals_that_want_it() {
    let toml = "[[turn]]\nsteps = [ { thinking = 'Hm.' }, { text = \"a \\u001b[31mred\\u001b[0m b\" }, \
        { tool = { name = 'Bash', input = { command = 'ls' }, result = 'x' } } ]";
    let scripted = Scripted::new(toml);
    let (seen, _) = Seat::take(&scripted, &["hi"], &[]).finish().await;
    assert!(
        seen.contains("\x1b[36m● \x1b[0m") && !seen.contains("\x1b[31m"),
        "{seen:?}"
    );
    assert!(seen.contains("a red b"), "{seen:?}");
    for set in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let (seen, _) = Seat::take(&scripted, &["hi"], &[set]).finish().await;
        assert!(
            seen.contains("a red b") && !seen.contains('\x1b'),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn words_are_not_parted() {
    let toml = "[[turn]]\nsteps = [ { text = 'The quick brown fox jumps over the lazy dog, which has seen all of this \
        before and wonders when it will end.' } ]";
    let scripted = Scripted::new(toml);
    let (seen, _) = Seat::take(&scripted, &["hi"], &[("NO_COLOR", "1")])
        .finish()
        .await;
    let wanted = "The quick brown fox jumps over the lazy dog, which has seen\r\nall of this before and wonders when it will end.\r\n";
    assert!(seen.contains(wanted), "{seen:?}");
}
