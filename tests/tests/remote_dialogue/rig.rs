//! A runner in this process, with shims of their own, and hosts of it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use bowline_lifecycle::{
    Decision, DialogueConfiguration, DialogueSession, Ladder, Place, Prompt, Remote, RemoteUrl,
    SessionId, StartError,
};
use bowline_runner::{Runner, ServeConfiguration, ServeLimits, ShimProgram, StateDir};
use bowline_tests::session::{answered, terminate, transcript, until, within};
use serde_json::Value;

pub(crate) struct Rig {
    pub(crate) folder: tempfile::TempDir,
    runner: Option<Runner>,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut rig = Self {
            folder,
            runner: None,
        };
        rig.restart().await;
        rig
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("runner.sock")
    }

    /// Ends the runner, if there is one, and starts another in its place.
    pub(crate) async fn restart(&mut self) {
        if let Some(runner) = self.runner.take() {
            within("the runner's end", runner.stop()).await;
        }
        let state = StateDir::at(self.folder.path().join("state")).expect("a state folder");
        let configuration = ServeConfiguration {
            state,
            shim: ShimProgram {
                path: env!("CARGO_BIN_EXE_shim").into(),
                args: vec!["shim".into()],
            },
            socket: Some(self.socket()),
            listen: Vec::new(),
            token_file: self.folder.path().join("token"),
            hosts: Vec::new(),
            origins: Vec::new(),
            tls: None,
            limits: ServeLimits {
                // Links are cut more often here than anywhere else.
                attaches_per_second: 10_000,
                goodbye: Duration::from_millis(200),
                ..ServeLimits::default()
            },
        };
        let runner = within("a runner", Runner::start(configuration)).await;
        self.runner = Some(runner.expect("it starts"));
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote::new(RemoteUrl::Unix(self.socket()))
    }

    /// The understudy at the runner.
    pub(crate) fn configuration(&self) -> DialogueConfiguration {
        DialogueConfiguration {
            program: env!("CARGO_BIN_EXE_stand-in").into(),
            args: vec!["--pace".into(), "0".into()],
            place: Place::Runner(self.remote()),
            ladder: Ladder {
                eof_grace: Duration::from_millis(200),
                term_grace: Duration::from_millis(200),
                ..Ladder::default()
            },
            ..DialogueConfiguration::default()
        }
    }

    pub(crate) async fn start(&self) -> DialogueSession {
        let started = within("a start", DialogueSession::start(self.configuration())).await;
        started.expect("the understudy starts")
    }
}

impl Rig {
    /// Another host of a dialogue.
    pub(crate) async fn attach(&self, id: SessionId) -> Result<DialogueSession, StartError> {
        let remote = self.remote();
        let attached = DialogueSession::attach(&remote, id, self.configuration());
        within("another host", attached).await
    }
}

/// Talks about everything: tools, a sub-agent of a sub-agent, a permission, a failure, much text.
pub(crate) async fn converse(session: &DialogueSession) {
    for text in [
        "hello",
        "/tool ls",
        "/fail ls",
        "/agent look around",
        "/lines 300",
        "/error",
    ] {
        answered(session, text).await;
    }
    let sent = session.send(Prompt::text("/ask rm")).await;
    let mut receipt = sent.expect("the prompt is sent");
    let asked = until(session, "a question", |now| {
        now["permissions"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    })
    .await;
    let id = asked["permissions"][0]["request_id"]
        .as_str()
        .expect("an id");
    let answer = session.answer_permission(id, Decision::allow()).await;
    answer.expect("it is open");
    within("an answer", receipt.settled()).await;
    answered(session, "/big 300000").await;
}

/// The transcript of a whole conversation.
pub(crate) async fn told(started: Result<DialogueSession, StartError>) -> Value {
    let session = started.expect("the understudy starts");
    converse(&session).await;
    let told = faceless(transcript(&session).await);
    terminate(&session).await;
    told
}

/// Checks that two transcripts say the same, and says in short where they do not.
pub(crate) fn same(heard: &Value, expected: &Value, path: &str) {
    match (heard, expected) {
        (Value::Object(heard), Value::Object(expected)) => {
            let keys = |it: &serde_json::Map<String, Value>| it.keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(heard), keys(expected), "at {path}");
            for (key, value) in heard {
                same(value, &expected[key], &format!("{path}.{key}"));
            }
        }
        (Value::Array(heard), Value::Array(expected)) => {
            assert_eq!(heard.len(), expected.len(), "at {path}");
            for (at, value) in heard.iter().enumerate() {
                same(value, &expected[at], &format!("{path}[{at}]"));
            }
        }
        (heard, expected) => {
            let short = |it: &Value| it.to_string().chars().take(200).collect::<String>();
            let what = format!("at {path}: {} is not {}", short(heard), short(expected));
            assert!(heard == expected, "{what}");
        }
    }
}

/// A transcript without what is different in each run: names are numbered as they come, and times
/// and counts of bytes are left out.
pub(crate) fn faceless(mut transcript: Value) -> Value {
    let mut names = HashMap::new();
    strip(&mut transcript, &mut names);
    transcript
}

fn strip(value: &mut Value, names: &mut HashMap<String, usize>) {
    match value {
        Value::String(text) => {
            let words = text.split_inclusive(char::is_whitespace);
            *text = words.map(|word| named(word, names)).collect();
        }
        Value::Array(all) => all.iter_mut().for_each(|it| strip(it, names)),
        Value::Object(map) => {
            for varying in ["duration_ms", "stats", "usage", "started_ms", "ended_ms"] {
                map.remove(varying);
            }
            let entries: Vec<_> = std::mem::take(map).into_iter().collect();
            for (key, mut value) in entries {
                strip(&mut value, names);
                map.insert(named(&key, names), value);
            }
        }
        _ => {}
    }
}

/// A word, or the number of what it names.
fn named(word: &str, names: &mut HashMap<String, usize>) -> String {
    let name = word.trim_end();
    if !is_name(name) {
        return word.to_owned();
    }
    let next = names.len();
    let number = *names.entry(name.to_owned()).or_insert(next);
    word.replace(name, &format!("#{number}"))
}

/// Whether a word names something for one run: a UUID, an agent, or what the vendor's service names.
fn is_name(word: &str) -> bool {
    let is_hex = |it: &str| it.bytes().all(|digit| digit.is_ascii_hexdigit());
    let is_uuid =
        word.len() == 36 && word.split('-').count() == 5 && is_hex(&word.replace('-', ""));
    let is_agent = word.len() == 17 && is_hex(word);
    let prefixes = ["msg_", "toolu_", "req_"];
    is_uuid || is_agent || prefixes.iter().any(|prefix| word.starts_with(prefix))
}
