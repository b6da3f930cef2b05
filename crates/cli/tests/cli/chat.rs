//! `bowline chat`, and `bowline attach` to its session, on terminals.

use std::path::PathBuf;

use bowline_transport::ExitStatus;

use crate::screen_model::{ScreenCommand, order};
use crate::support::{AGENT, ScriptedAgent};
use crate::test_runner::TestRunner;

const ENTER: &str = "\r";

/// A conversation whose turns wait for what the user does.
const TURNS: &str = r#"
fold = false
[[turn]]
match = "prompt one"
steps = [ { thinking = "Let me see." }, { text = "Answer one is streamed in pieces, and is long enough for two rows of a narrow terminal." } ]
[[turn]]
match = "prompt two"
steps = [ { tool = { name = "Bash", input = { command = "ls" }, result = "file-a\nfile-b" } }, { text = "Answer two." } ]
[[turn]]
match = "prompt three"
steps = [ { tool = { name = "Edit", input = { file_path = "/tmp/x.rs", old_string = "a\nold line\n", new_string = "a\nnew line\n" }, ask = true, result = "changed",
    allowed = [ { text = "Answer three, allowed." } ], denied = [ { text = "Answer three, denied." } ] } } ]
[[turn]]
match = "prompt four"
steps = [ { text = "Working on four." }, { wait_for = { control = "set_permission_mode" } }, { text = "Answer four." } ]
[[turn]]
match = "prompt five"
steps = [ { text = "Answer five." } ]
[[turn]]
match = "prompt six"
steps = [ { tool = { name = "Bash", input = { command = "sleep 600" }, duration_ms = 600000 } }, { text = "Never." } ]
[[turn]]
match = "prompt seven"
steps = [ { text = "Answer seven, with 漢字 and so many words that they take more than one row of forty columns." } ]
[[turn]]
match = "prompt eight"
steps = [ { tool = { name = "Bash", input = { command = "make" }, ask = true, result = "made",
    allowed = [ { text = "Answer eight, allowed." } ], denied = [ { text = "Answer eight, denied." } ] } } ]
[[turn]]
match = "prompt nine"
steps = [ { text = "Answer nine." } ]
[[turn]]
match = "prompt ten"
steps = [ { text = "Answer ten." } ]
"#;

/// What each turn prints once.
const MARKS: [&str; 19] = [
    "prompt one",
    "Answer one is",
    "prompt two",
    "Answer two.",
    "prompt three",
    "Answer three, allowed.",
    "prompt four",
    "Answer four.",
    "prompt five",
    "Answer five.",
    "prompt six",
    "prompt seven",
    "Answer seven,",
    "prompt eight",
    "Answer eight, allowed.",
    "prompt nine",
    "Answer nine.",
    "prompt ten",
    "Answer ten.",
];

fn chat(served: &TestRunner, agent: &ScriptedAgent, more: &[&str]) -> ScreenCommand {
    let scenario = format!("--scenario={}", agent.path("scenario.toml"));
    let fixed = [
        "chat",
        "--agent",
        AGENT,
        "--agent-arg",
        &scenario,
        "--agent-arg",
    ];
    // The tool that is interrupted takes its time.
    let pace = ["--pace=1"];
    let line = fixed.iter().chain(&pace).chain(more);
    screen(served, line.map(|it| (*it).to_owned()).collect(), (80, 24))
}

fn attach(served: &TestRunner, id: &str, size: (u16, u16)) -> ScreenCommand {
    screen(served, vec!["attach".to_owned(), id.to_owned()], size)
}

fn screen(served: &TestRunner, line: Vec<String>, size: (u16, u16)) -> ScreenCommand {
    let set = vec![("BOWLINE_STATE_DIR".into(), served.state().into())];
    ScreenCommand::bowline(line, set, Some(PathBuf::from("/tmp")), size)
}

/// Enters a line, and waits until the turn that it begins has ended.
async fn turn(command: &mut ScreenCommand, line: &str, answer: &str) {
    command.keys(&format!("{line}{ENTER}")).await;
    let is_done = |text: &str| {
        let answered = text.split_once(answer);
        answered.is_some_and(|(_, rest)| rest.contains("✓ done after"))
    };
    command.until(answer, is_done).await;
}

#[tokio::test]
async fn conversation_survives_detach_and_kill_of_its_terminals() {
    let served = TestRunner::start();
    let agent = ScriptedAgent::new(TURNS);
    let mut first = chat(&served, &agent, &[]);
    first.until("a prompt", |it| it.starts_with('>')).await;
    turn(&mut first, "prompt one", "Answer one is").await;
    turn(&mut first, "prompt two", "Answer two.").await;
    first.keys(&format!("prompt three{ENTER}")).await;
    first.shows("[r]eason").await;
    first.keys("y").await;
    let text = first.shows("Answer three, allowed.").await;
    for line in ["- old line", "+ new line"] {
        assert_eq!(text.matches(line).count(), 1, "{text}");
    }
    assert!(text.contains("Edit was allowed by ann (pts/"), "{text}");

    // A prompt that is sent during a turn is queued; a command goes through at once.
    first.keys(&format!("prompt four{ENTER}")).await;
    first.shows("Working on four.").await;
    first.keys(&format!("prompt five{ENTER}")).await;
    first.shows("… queued: prompt five").await;
    first.keys(&format!("/mode plan{ENTER}")).await;
    let text = first.shows("Answer five.").await;
    let places = ["Answer four.", "> prompt five", "Answer five."].map(|it| text.find(it));
    assert!(places.is_sorted() && places[0].is_some(), "{text}");
    first.until("idle", |it| !it.contains("queued")).await;

    // A draft outlives the interrupt and the resize.
    first.keys(&format!("prompt six{ENTER}")).await;
    first.shows("● Bash  sleep 600").await;
    first.keys("a draft that stays\u{3}").await;
    first.shows("⊘ interrupted after").await;
    first.shows("\n> a draft that stays").await;
    first.resize(40, 20);
    let is_drawn = |text: &str| text.matches("> a draft that stays").count() == 1;
    first.until("one draft", is_drawn).await;
    first.keys("\u{15}").await;
    turn(&mut first, "prompt seven", "Answer seven,").await;
    first.keys(&format!("/detach{ENTER}")).await;
    let (text, status) = first.finish().await;
    assert_eq!(status, ExitStatus::Code(0), "{text}");
    let (_, left) = text.split_once("detached from ").unwrap();
    let id = left.split(';').next().unwrap().to_owned();
    let back = format!("`bowline attach {id}`");
    assert!(text.replace('\n', " ").contains(&back), "{text}");

    // Two terminals: one asks, the other answers.
    let mut second = attach(&served, &id, (100, 30));
    let mut third = attach(&served, &id, (40, 20));
    second.shows("Answer seven,").await;
    third.shows("Answer seven,").await;
    second.keys(&format!("prompt eight{ENTER}")).await;
    second.shows("command: make").await;
    third.shows("[r]eason").await;
    third.keys("y").await;
    for screen in [&mut second, &mut third] {
        screen.shows("Answer eight, allowed.").await;
        let is_closed = |text: &str| {
            let joined = text.replace('\n', " ");
            joined.contains("Bash was allowed by ann (pts/") && !text.contains("[r]eason")
        };
        screen.until("the name, and no question", is_closed).await;
    }
    turn(&mut second, "prompt nine", "Answer nine.").await;
    second.kill();
    let (left, _) = second.finish().await;
    turn(&mut third, "prompt ten", "Answer ten.").await;

    let mut fourth = attach(&served, &id, (100, 30));
    let fresh = fourth
        .until("all of it", |it| it.matches("✓ done").count() == 9)
        .await;
    let shown = order(&fresh, &MARKS);
    assert_eq!(shown.len(), MARKS.len(), "{fresh}");
    assert_eq!(order(&third.text(), &MARKS), shown, "{}", third.text());
    // Each prompt has its author, also those from before a terminal attached.
    for text in [&fresh, &third.text()] {
        assert_eq!(text.matches("\n  by ann (pts/").count(), 10, "{text}");
    }
    // The terminal that was killed has all but the last turn.
    assert_eq!(order(&left, &MARKS), shown[..shown.len() - 2], "{left}");
}

/// Turns of which the first one goes on until the mode is changed.
const QUEUED: &str = r#"
fold = false
[[turn]]
match = "begin"
steps = [ { text = "Working." }, { wait_for = { control = "set_permission_mode" } }, { text = "Begun." } ]
[[turn]]
match = "gamma"
steps = [ { text = "Answer gamma." } ]
[[turn]]
match = "beta changed"
steps = [ { text = "Answer beta." } ]
"#;

#[tokio::test]
async fn queue_is_changed_from_two_terminals() {
    let served = TestRunner::start();
    let agent = ScriptedAgent::new(QUEUED);
    let mut first = chat(&served, &agent, &[]);
    first.until("a prompt", |it| it.starts_with('>')).await;
    first.keys(&format!("/queue{ENTER}begin{ENTER}")).await;
    first
        .shows("no prompts wait; /queue add TEXT queues one")
        .await;
    first.shows("Working.").await;
    first
        .keys(&format!("/queue add alpha{ENTER}/queue add beta{ENTER}"))
        .await;
    first.shows("… queued 1: alpha\n… queued 2: beta").await;
    let list = served.json("GET", "/api/sessions", None);
    let id = list["sessions"][0]["id"].as_str().unwrap().to_owned();
    let mut second = attach(&served, &id, (80, 24));
    second.shows("… queued 1: alpha\n… queued 2: beta").await;
    let steps = [
        ("add gamma", "… queued 2: beta\n… queued 3: gamma"),
        ("move 3 before 2", "… queued 3: gamma\n… queued 2: beta"),
        (
            "edit 2 beta changed",
            "… queued 3: gamma\n… queued 2: beta changed",
        ),
        ("cancel 1", "prompt was cancelled: alpha"),
    ];
    for (change, wanted) in steps {
        second.keys(&format!("/queue {change}{ENTER}")).await;
        first.shows(wanted).await;
    }
    let text = first.text();
    for change in ["move", "edit", "cancel"] {
        let note = format!("{change} a queued prompt, by ann (pts/");
        assert_eq!(text.matches(&note).count(), 1, "{text}");
    }
    let refusals = [
        ("", "\n   3  gamma\n   2  beta changed\n"),
        ("cancel 1", "queued prompt 1 was sent or cancelled"),
        ("cancel 9", "no queued prompt 9; /queue lists them"),
        ("move 2 3", "/queue move N before M"),
    ];
    for (change, wanted) in refusals {
        first.keys(&format!("/queue {change}{ENTER}")).await;
        first.shows(wanted).await;
    }
    first.keys(&format!("/mode plan{ENTER}")).await;
    for screen in [&mut first, &mut second] {
        let text = screen.shows("Answer beta.").await;
        let wanted = [
            "Begun.",
            "> gamma",
            "Answer gamma.",
            "> beta changed",
            "Answer beta.",
        ];
        let places = wanted.map(|it| text.find(it));
        assert!(places.is_sorted() && places[0].is_some(), "{text}");
    }
}

#[tokio::test]
async fn queue_of_local_conversation_is_changed() {
    let toml = "[[turn]]\nsteps = [ { text = 'One line.' }, { hang = {} } ]";
    let agent = ScriptedAgent::new(toml);
    let mut command = local(&agent, &["wait"], &[]);
    command.shows("One line.").await;
    command.keys(&format!("/queue add later{ENTER}")).await;
    command.shows("… queued 1: later").await;
    command
        .keys(&format!("/queue edit 1 much later{ENTER}"))
        .await;
    command.shows("… queued 1: much later").await;
    command.shows("queued prompt 1 was changed").await;
    command.keys(&format!("/queue cancel 1{ENTER}")).await;
    command.shows("queued prompt 1 was cancelled").await;
    command
        .until("an empty queue", |it| !it.contains("… queued"))
        .await;
}

fn local(agent: &ScriptedAgent, more: &[&str], set: &[(&str, &str)]) -> ScreenCommand {
    let scenario = format!("--scenario={}", agent.path("scenario.toml"));
    let fixed = [
        "chat",
        "--no-runner",
        "--agent",
        AGENT,
        "--agent-arg",
        &scenario,
    ];
    let pace = ["--agent-arg", "--pace=0"];
    let line = fixed.iter().chain(&pace).chain(more);
    let line = line.map(|it| (*it).to_owned()).collect();
    let state = agent.path("state");
    let mut set: Vec<_> = set
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    set.push(("BOWLINE_STATE_DIR".into(), state.into()));
    let cwd = agent.folder.path().to_owned();
    ScreenCommand::bowline(line, set, Some(cwd), (70, 24))
}

#[tokio::test]
async fn commands_and_images_of_local_conversation() {
    let agent = ScriptedAgent::new(
        "otherwise = 'reply'\n[[turn]]\nmatch = 'look'\nsteps = [ { text = 'Seen.' } ]",
    );
    std::fs::write(agent.path("shot.png"), [1, 2, 3]).unwrap();
    let mut command = local(&agent, &["look"], &[]);
    command.shows("✓ done").await;
    let lines = [
        ("/detach", "this session runs in this program"),
        ("/nothing", "no command /nothing; /help lists them"),
        ("/help", "/export [FILE]"),
        ("/usage", "so far"),
        ("/inspect", "parse errors"),
        ("/mode plan", "mode is now plan"),
        ("/export out.json", "out.json"),
        ("describe @shot.png", "shot.png is attached"),
    ];
    for (line, wanted) in lines {
        command.keys(&format!("{line}{ENTER}")).await;
        command.shows(wanted).await;
    }
    command
        .until("two turns", |it| it.matches("✓ done").count() == 2)
        .await;
    // The completion of a path, and a line that is browsed from the history.
    command.keys("see @sh\t").await;
    command.shows("\n> see @shot.png").await;
    command.keys("\u{15}\u{1b}[A").await;
    command.shows("\n> describe @shot.png").await;
    command.keys("\u{15}\u{4}").await;
    let (text, status) = command.finish().await;
    assert_eq!(status, ExitStatus::Code(0), "{text}");
    assert!(text.contains("; resume with `bowline chat"), "{text}");
    let exported = std::fs::read(agent.path("out.json")).unwrap();
    let exported: serde_json::Value = serde_json::from_slice(&exported).unwrap();
    assert_eq!(exported["schema"], 2);
}

#[tokio::test]
async fn second_interrupt_ends_conversation() {
    let toml =
        "[[turn]]\nsteps = [ { ignore_stdin = true }, { text = 'One line.' }, { hang = {} } ]";
    let agent = ScriptedAgent::new(toml);
    let mut command = local(&agent, &["wait"], &[("NO_COLOR", "1")]);
    command.shows("One line.").await;
    command.keys("\u{3}").await;
    command.shows("press ^C again to end the session").await;
    command.keys("\u{3}").await;
    let (text, status) = command.finish().await;
    assert_eq!(status, ExitStatus::Code(130), "{text}");
    assert_eq!(text.matches("One line.").count(), 1, "{text}");
}

#[tokio::test]
async fn question_is_answered_by_a_key_or_in_words() {
    let question = |text: &str| {
        format!(
            "{{ tool = {{ name = 'AskUserQuestion', ask = true, result = 'answers {{{{input.answers}}}}', \
             input = {{ questions = [ {{ question = '{text}', header = 'Colour', multiSelect = false, \
             options = [ {{ label = 'Red' }}, {{ label = 'Blue' }} ] }} ] }} }} }}"
        )
    };
    let toml = format!(
        "[[turn]]\nsteps = [ {}, {}, {{ text = 'Noted.' }} ]",
        question("Which one?"),
        question("And then?")
    );
    let agent = ScriptedAgent::new(&toml);
    let mut command = local(&agent, &["paint"], &[]);
    command.shows("Which one?\n    1. Red").await;
    command.keys("2").await;
    command.shows("And then?\n    1. Red").await;
    command.keys(&format!("a light green{ENTER}")).await;
    let text = command.shows("Noted.").await;
    assert!(text.contains(r#"answers {"Which one?":"Blue"}"#), "{text}");
    assert!(
        text.contains(r#"answers {"And then?":"a light green"}"#),
        "{text}"
    );
}

/// A host that drives its session itself is not fenced off by those that attach.
#[tokio::test]
async fn attach_joins_the_host_of_a_session() {
    let served = TestRunner::start();
    let agent = ScriptedAgent::new(TURNS);
    let url = format!("unix:{}/runner.sock", served.state());
    let line = agent.line(&["--runner", &url, "prompt eight"]);
    let mut host = screen(&served, line, (80, 24));
    host.shows("[y]es, [n]o").await;
    let list = served.json("GET", "/api/sessions", None);
    let id = list["sessions"][0]["id"].as_str().unwrap().to_owned();
    let mut other = attach(&served, &id, (80, 24));
    other.shows("[r]eason").await;
    other.keys("y").await;
    other.shows("Answer eight, allowed.").await;
    let (text, status) = host.finish().await;
    assert!(text.contains("Answer eight, allowed."), "{text}");
    assert_eq!(status, ExitStatus::Code(0), "{text}");
}
