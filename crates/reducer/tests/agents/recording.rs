//! Recordings, and their fold.

use std::fs;
use std::path::{Path, PathBuf};

use bowline_jsonl::Framer;
use bowline_reducer::dialect::DialectName;
use bowline_reducer::{End, Meta, Transcript};
use serde_json::Value;

/// A recorded run of an agent.
#[derive(Clone)]
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) dialect: DialectName,
    /// Direction and message, in order; the agent's alone where the input is not recorded.
    pub(crate) messages: Vec<(String, Value)>,
    /// The agent's output.
    pub(crate) output: String,
}

/// Every recording whose dialect is not Claude Code's or Gemini's stream-json.
pub(crate) fn recordings() -> Vec<Recording> {
    let mut all = all_recordings();
    all.retain(|it| it.dialect != DialectName::GeminiStreamJson);
    all
}

/// The recordings in a dialect other than Claude Code's.
pub(crate) fn recordings_of(dialect: DialectName) -> impl Iterator<Item = Recording> {
    let all = all_recordings().into_iter();
    all.filter(move |it| it.dialect == dialect)
}

fn all_recordings() -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/agents");
    let mut paths: Vec<PathBuf> = Vec::new();
    for agent in fs::read_dir(root).expect("the recordings") {
        let agent = agent.expect("a folder").path();
        let files = fs::read_dir(agent).expect("a folder");
        paths.extend(files.map(|file| file.expect("a file").path()));
    }
    paths.sort();
    paths.iter().filter_map(|path| recording(path)).collect()
}

/// The recording with this name, such as `gemini/acp.tool.trace.jsonl`.
pub(crate) fn named(name: &str) -> Recording {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/agents");
    recording(&root.join(name)).expect("a recording")
}

fn recording(path: &Path) -> Option<Recording> {
    let file = path.file_name()?.to_string_lossy().into_owned();
    let agent = path.parent()?.file_name()?.to_string_lossy().into_owned();
    let dialect = if file.starts_with("acp.") {
        DialectName::Acp
    } else if file.starts_with("app-server.") {
        DialectName::Codex
    } else if file.starts_with("exec.") {
        DialectName::CodexExec
    } else if file.starts_with("json.") {
        DialectName::CopilotJson
    } else if file.starts_with("run-json.") {
        DialectName::OpencodeRunJson
    } else if agent == "gemini" {
        DialectName::GeminiStreamJson
    } else {
        return None;
    };
    let text = fs::read_to_string(path).expect("a readable file");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<Value> = lines.collect();
    let is_trace = file.ends_with(".trace.jsonl");
    let messages: Vec<_> = lines
        .into_iter()
        .filter(|line| !is_trace || line["dir"] != "driver")
        .map(|line| match is_trace {
            true => (
                line["dir"].as_str().expect("a direction").to_owned(),
                line["msg"].clone(),
            ),
            false => ("agent>".to_owned(), line),
        })
        .collect();
    let mut recording = Recording {
        name: format!("{agent}/{file}"),
        dialect,
        messages,
        output: text,
    };
    if is_trace {
        recording.output = recording.outputs();
    }
    Some(recording)
}

impl Recording {
    /// The agent's messages, as lines.
    pub(crate) fn outputs(&self) -> String {
        let own = self.messages.iter();
        let own = own.filter(|(direction, _)| direction == "agent>");
        own.map(|(_, message)| format!("{message}\n")).collect()
    }

    /// The transcript at the end.
    pub(crate) fn fold(&self) -> Transcript {
        let mut transcript = self.fold_open();
        transcript.end(End::Recording, Meta::default());
        transcript
    }

    /// The transcript before the stream ends.
    pub(crate) fn fold_open(&self) -> Transcript {
        let mut transcript = Transcript::with_dialect(self.dialect);
        self.feed(&mut transcript);
        transcript
    }

    /// Applies everything, each line of input where it was written.
    fn feed(&self, transcript: &mut Transcript) {
        let mut framer = Framer::default();
        let mut output = self.output.lines();
        for (direction, message) in &self.messages {
            if direction == "host>" {
                transcript.apply_input(&message.to_string(), Meta::default());
                continue;
            }
            let line = output.next().expect("a line");
            framer.push(format!("{line}\n").into());
            drain(&mut framer, transcript);
        }
        framer.finish();
        drain(&mut framer, transcript);
    }
}

pub(crate) fn drain(framer: &mut Framer, transcript: &mut Transcript) {
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            transcript.apply(&item, Meta::default());
        }
    }
}
