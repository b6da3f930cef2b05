//! The folds of the protocols over JSON-RPC, with lines of both sides in any order.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bowline_reducer::dialect::DialectName;
use bowline_reducer::{Cursor, End, Meta, Mirror, Phase, Transcript, Window};
use serde_json::Value;

use super::reducer::{json, mirrored, nothing_is_open, read};
use super::{same, whole};
use crate::guided::{Check, Target};
use crate::shipped::jsonl::Framer;

/// Arrival time of every line, which these targets ignore.
const NOW: Meta = Meta { at_ms: 0 };

/// Folder of the recordings of other agents.
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/agents");

/// Longest message of a seed, in bytes.
const MESSAGE: usize = 1_500;

/// Bytes after which a seed gets no further message: short inputs are folded faster, and more of what is mutated
/// in them matters.
const SEED: usize = 600;

/// Values of the selector, modulo this, choose what an input is checked for; the quotient chooses where.
const LAW_INTERVAL: u8 = 16;

/// Marks a line that the host wrote.
const HOST: u8 = b'>';

/// The first byte is the selector: what is checked, where readers read and where a replay begins. Of the rest,
/// lines that begin with `>` are the host's, the others the agent's.
pub(super) static CODEX: Target = Target {
    name: "codex",
    what: "as reducer, for `codex app-server` and the host's lines",
    longest: 2_000,
    seeds: codex_seeds,
    dictionary: &CODEX_TOKENS,
    repair: spread,
    check: || Ok(check(DialectName::Codex)),
};

/// As [`CODEX`].
pub(super) static ACP: Target = Target {
    name: "acp",
    what: "as reducer, for the Agent Client Protocol and the host's lines",
    longest: 2_000,
    seeds: acp_seeds,
    dictionary: &ACP_TOKENS,
    repair: spread,
    check: || Ok(check(DialectName::Acp)),
};

/// As [`CODEX`], without lines of the host. The quotient of the selector also chooses the protocol.
pub(super) static OUTPUTS: Target = Target {
    name: "outputs",
    what: "as reducer, for the outputs of Gemini CLI, `codex exec`, Copilot, opencode and Qwen",
    longest: 2_000,
    seeds: output_seeds,
    dictionary: &OUTPUT_TOKENS,
    repair: whole,
    check: || {
        let mut checks = OUTPUTS_OF.map(|(dialect, _)| check(dialect));
        Ok(Box::new(move |input| {
            let selector = input.first().copied().unwrap_or_default();
            let number = usize::from(selector / LAW_INTERVAL) % checks.len();
            checks[number](input)
        }))
    },
};

/// The protocols that are output alone, and how the names of their recordings begin.
const OUTPUTS_OF: [(DialectName, &str); 5] = [
    (DialectName::GeminiStreamJson, "gemini/stream-json."),
    (DialectName::CodexExec, "codex/exec."),
    (DialectName::CopilotJson, "copilot/json."),
    (DialectName::OpencodeRunJson, "opencode/run-json."),
    (DialectName::Qwen, "qwen/stream-json."),
];

const OUTPUT_TOKENS: [&[u8]; 28] = [
    b"\n",
    b"\"\"",
    b"null",
    b"[]",
    b"{}",
    b"0",
    b"-1",
    b"\\ud83d",
    b"\"id\":\"item_0\"",
    b"\"type\":\"init\"",
    b"\"type\":\"message\"",
    b"\"type\":\"result\"",
    b"\"type\":\"tool_use\"",
    b"\"type\":\"tool_result\"",
    b"\"type\":\"item.started\"",
    b"\"type\":\"item.updated\"",
    b"\"type\":\"item.completed\"",
    b"\"type\":\"turn.completed\"",
    b"\"type\":\"turn.failed\"",
    b"\"type\":\"assistant.message\"",
    b"\"type\":\"tool.execution_start\"",
    b"\"type\":\"tool.execution_complete\"",
    b"\"type\":\"step_start\"",
    b"\"type\":\"step_finish\"",
    b"\"status\":\"completed\"",
    b"\"status\":\"error\"",
    b"\"delta\":true",
    b"\"tool_id\":\"t\"",
];

const CODEX_TOKENS: [&[u8]; 30] = [
    b"\n",
    b">",
    b"\"id\":0",
    b"\"id\":1",
    b"\"id\":\"a\"",
    b"\"threadId\":\"t\"",
    b"\"threadId\":\"u\"",
    b"\"turnId\":\"n\"",
    b"\"itemId\":\"i\"",
    b"\"id\":\"i\"",
    b"\"status\":\"completed\"",
    b"\"status\":\"declined\"",
    b"\"status\":\"inProgress\"",
    b"\"status\":\"interrupted\"",
    b"\"method\":\"turn/started\"",
    b"\"method\":\"turn/completed\"",
    b"\"method\":\"item/started\"",
    b"\"method\":\"item/completed\"",
    b"\"method\":\"item/agentMessage/delta\"",
    b"\"method\":\"serverRequest/resolved\"",
    b"\"method\":\"turn/start\"",
    b"\"method\":\"thread/resume\"",
    b"\"type\":\"collabAgentToolCall\"",
    b"\"receiverThreadIds\":[\"u\"]",
    b"\"type\":\"agentMessage\"",
    b"\"result\":{\"decision\":\"accept\"}",
    b"\"result\":{}",
    b"\"error\":{\"code\":1,\"message\":\"m\"}",
    b"null",
    b"[]",
];

const ACP_TOKENS: [&[u8]; 30] = [
    b"\n",
    b">",
    b"\"id\":0",
    b"\"id\":1",
    b"\"id\":\"a\"",
    b"\"sessionId\":\"s\"",
    b"\"sessionId\":\"u\"",
    b"\"toolCallId\":\"c\"",
    b"\"messageId\":\"m\"",
    b"\"status\":\"completed\"",
    b"\"status\":\"failed\"",
    b"\"status\":\"pending\"",
    b"\"sessionUpdate\":\"tool_call\"",
    b"\"sessionUpdate\":\"tool_call_update\"",
    b"\"sessionUpdate\":\"agent_message_chunk\"",
    b"\"sessionUpdate\":\"user_message_chunk\"",
    b"\"sessionUpdate\":\"subagent_update\"",
    b"\"sessionUpdate\":\"session_message\"",
    b"\"sessionUpdate\":\"plan\"",
    b"\"method\":\"session/prompt\"",
    b"\"method\":\"session/load\"",
    b"\"method\":\"session/update\"",
    b"\"method\":\"session/request_permission\"",
    b"\"method\":\"session/cancel\"",
    b"\"result\":{\"stopReason\":\"end_turn\"}",
    b"\"result\":{\"sessionId\":\"s\"}",
    b"\"error\":{\"code\":1,\"message\":\"m\"}",
    b"\"content\":{\"type\":\"text\",\"text\":\"a\"}",
    b"null",
    b"[]",
];

fn codex_seeds() -> io::Result<Vec<Vec<u8>>> {
    seeds("app-server.")
}

fn acp_seeds() -> io::Result<Vec<Vec<u8>>> {
    seeds("acp.")
}

/// Consecutive lines of the recordings of output.
fn output_seeds() -> io::Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for (number, (_, prefix)) in OUTPUTS_OF.iter().enumerate() {
        let selector = (number as u8) * LAW_INTERVAL;
        let (folder, prefix) = prefix.split_once('/').unwrap_or_default();
        let mut seed = vec![selector];
        for path in recordings(&Path::new(RECORDINGS).join(folder), prefix)? {
            for line in fs::read_to_string(path)?.lines() {
                if line.len() > MESSAGE {
                    continue;
                }
                if seed.len() + line.len() > SEED {
                    let law = seeds.len() as u8 % 5;
                    seeds.push(std::mem::replace(&mut seed, vec![selector + law]));
                }
                seed.extend_from_slice(line.as_bytes());
                seed.push(b'\n');
            }
        }
        seeds.push(seed);
    }
    Ok(seeds)
}

/// The files of a folder whose names begin so, by name.
fn recordings(folder: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder)?.map(|file| Ok(file?.path()));
    let mut files = files.collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(prefix)
    });
    files.sort();
    Ok(files)
}

/// Consecutive lines of the recordings whose name begins so.
fn seeds(prefix: &str) -> io::Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for path in traces(prefix)? {
        let mut seed = vec![seeds.len() as u8];
        for line in fs::read_to_string(path)?.lines() {
            let line: Value = serde_json::from_str(line)?;
            let message = line["msg"].to_string();
            if line["dir"] == "driver" || message.len() > MESSAGE {
                continue;
            }
            if seed.len() + message.len() > SEED {
                let next = vec![seeds.len() as u8];
                seeds.push(std::mem::replace(&mut seed, next));
            }
            if line["dir"] == "host>" {
                seed.push(HOST);
            }
            seed.extend_from_slice(message.as_bytes());
            seed.push(b'\n');
        }
        seeds.push(seed);
    }
    Ok(seeds)
}

fn traces(prefix: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for agent in fs::read_dir(Path::new(RECORDINGS))? {
        for file in fs::read_dir(agent?.path())? {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            if name.starts_with(prefix) && name.ends_with(".trace.jsonl") {
                paths.push(file.path());
            }
        }
    }
    paths.sort();
    Ok(paths)
}

/// The agent's output, and the host's lines, each with the offset before which it was written.
struct Streams {
    output: Vec<u8>,
    inputs: Vec<(usize, String)>,
}

impl Streams {
    fn read(input: &[u8]) -> Self {
        let (mut output, mut inputs) = (Vec::new(), Vec::new());
        for line in input.split_inclusive(|&byte| byte == b'\n') {
            match line.strip_prefix(&[HOST]) {
                Some(line) => inputs.extend(
                    std::str::from_utf8(line)
                        .map(|text| (output.len(), text.trim_end_matches('\n').to_owned())),
                ),
                None => output.extend_from_slice(line),
            }
        }
        Self { output, inputs }
    }

    /// Offsets at which lines of the output begin, and its end.
    fn starts(&self) -> Vec<usize> {
        let bytes = self.output.iter().enumerate();
        let after = bytes
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(at, _)| at + 1);
        std::iter::once(0).chain(after).collect()
    }
}

/// Folds each input, and checks one in [`LAW_INTERVAL`] for each of four laws that need the transcript as JSON or
/// a second fold, which take several times as long as the fold.
fn check(dialect: DialectName) -> Check {
    Box::new(move |input| {
        let Some((selector, input)) = input.split_first() else {
            return Ok(());
        };
        let (law, place) = (selector % LAW_INTERVAL, selector / LAW_INTERVAL);
        let (place, streams) = (usize::from(place), Streams::read(input));
        let whole = Transcript::with_dialect(dialect);
        match law {
            0 => {
                let window = Window::of_entries(1 + place % 5);
                let windowed = Transcript::with_dialect_and_window(dialect, window);
                read_on_the_way(windowed, &streams, place)
            }
            1 => read_on_the_way(whole, &streams, place),
            2 => {
                let [once, again] = [folded(whole, &streams), replayed(dialect, &streams, place)];
                same_json("a replay", &again, &once)
            }
            3 => nothing_is_open(&json(&folded(whole, &streams))?),
            _ => ends(folded(whole, &streams)),
        }
    })
}

/// Writes the selector of an input: a number that depends on all other bytes, so that inputs that come from one
/// another are checked for different laws.
fn spread(input: &mut [u8]) {
    if let Some((selector, rest)) = input.split_first_mut() {
        let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        let hash = rest.iter().fold(0x811c_9dc5, mix);
        *selector = (hash ^ hash >> 16).to_le_bytes()[0];
    }
}

/// Folds the streams to their end.
fn folded(mut it: Transcript, streams: &Streams) -> Transcript {
    let mut feed = Feed::new(streams, 0, 0);
    while feed.step(&mut it, streams.output.len()) {}
    feed.finish(&mut it);
    it.end(End::Recording, NOW);
    it
}

/// Checks that a transcript has ended, and that all of it can be read as changes.
fn ends(mut it: Transcript) -> Result<(), String> {
    if it.status().phase != Phase::Ended {
        return Err(format!("it is {:?} at the end", it.status().phase));
    }
    let changes = it.changes_since(Cursor::default());
    if changes.iter().count() == 0 {
        return Err("nothing has changed at the end".to_owned());
    }
    Ok(())
}

/// Compares the transcripts as they are written.
fn same_json(what: &str, one: &Transcript, other: &Transcript) -> Result<(), String> {
    let texts = [one, other].map(serde_json::to_string);
    let [one_text, other_text] = texts.map(|text| text.map_err(|error| error.to_string()));
    if one_text? == other_text? {
        return Ok(());
    }
    same(what, &json(one)?, &json(other)?)
}

/// Folds the streams, reads the changes now and then, and compares what they lead to with the transcript: at one
/// place on the way, and at the end.
fn read_on_the_way(mut it: Transcript, streams: &Streams, place: usize) -> Result<(), String> {
    let (mut mirror, mut cursor) = (Mirror::new(), Cursor::default());
    let mut count = 0;
    let mut feed = Feed::new(streams, 0, 0);
    while feed.step(&mut it, streams.output.len()) {
        count += 1;
        if count == 1 + place % 13 {
            cursor = mirrored(&mut it, &mut mirror, cursor)?;
        } else if count % (1 + place % 7) == 0 {
            cursor = read(&mut it, &mut mirror, cursor)?;
        }
    }
    feed.finish(&mut it);
    it.end(End::Recording, NOW);
    mirrored(&mut it, &mut mirror, cursor).map(drop)
}

/// Folds the streams up to any byte, and then the output again from an earlier line.
fn replayed(dialect: DialectName, streams: &Streams, place: usize) -> Transcript {
    let starts = streams.starts();
    let cut = streams.output.len() * place / usize::from(u8::MAX / LAW_INTERVAL);
    let line = starts.partition_point(|start| *start <= cut) - 1;
    let again = line * (place % 4) / 3;
    let mut it = Transcript::with_dialect(dialect);
    let mut feed = Feed::new(streams, 0, 0);
    while feed.step(&mut it, cut) {}
    let mut feed = Feed {
        next_input: feed.next_input,
        ..Feed::new(streams, starts[again], again as u64)
    };
    while feed.step(&mut it, streams.output.len()) {}
    feed.finish(&mut it);
    it.end(End::Recording, NOW);
    it
}

/// Feeds a transcript with output and, once it has the output before it, each input.
struct Feed<'a> {
    streams: &'a Streams,
    framer: Framer,
    at: usize,
    next_input: usize,
}

impl<'a> Feed<'a> {
    fn new(streams: &'a Streams, at: usize, lines: u64) -> Self {
        Self {
            streams,
            framer: Framer::at(usize::MAX >> 1, at as u64, lines + 1),
            at,
            next_input: 0,
        }
    }

    /// Applies the next line before `to`, of either side. Returns whether there was one.
    fn step(&mut self, it: &mut Transcript, to: usize) -> bool {
        let input = self.streams.inputs.get(self.next_input);
        let is_due = |place: usize| place <= self.at && place as u64 <= it.applied();
        if let Some((_, line)) = input.filter(|(place, _)| is_due(*place)) {
            it.apply_input(line, NOW);
            self.next_input += 1;
            return true;
        }
        let rest = &self.streams.output[self.at.min(to)..to];
        if rest.is_empty() {
            return false;
        }
        let line = rest.iter().position(|&byte| byte == b'\n');
        let length = line.map_or(rest.len(), |at| at + 1);
        self.framer.push(rest[..length].to_vec().into());
        self.at += length;
        self.drain(it);
        true
    }

    /// Ends the output.
    fn finish(&mut self, it: &mut Transcript) {
        self.framer.finish();
        self.drain(it);
    }

    fn drain(&mut self, it: &mut Transcript) {
        while let Some(frame) = self.framer.next_frame() {
            frame.items().for_each(|item| it.apply(&item, NOW));
        }
    }
}
