//! The other process: it writes what sessions receive.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;

use super::line;
use crate::reduce::Script;

/// Deltas of one streamed message (performance notes, section 5).
const DELTAS: usize = 40;

/// Messages that are made at once.
const BATCH: usize = 100;

/// Bytes of one large write, as the notes on performance have them (section 4).
const CHUNK: usize = 65_817;

/// How long the fleet runs before it counts.
const WARM: Duration = Duration::from_secs(1);

/// What this program does when it is somebody's child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Writes so many bytes of streamed messages to stdout, one write(2) a line.
    Lines(u64),
    /// The same in writes of about 64 KiB.
    Chunks(u64),
    /// The same with tool calls, their results and the ends of turns between, made as it is written.
    Conversation(u64),
    /// Writes `rate` lines a second, in turn to the stdout of each process named on stdin, for so
    /// many seconds; says on stdout when it begins and ends to count.
    Fleet {
        /// Lines a second, all together.
        rate: u64,
        /// Seconds that count.
        seconds: u64,
    },
}

impl Role {
    /// The arguments of this program that give it this role.
    #[must_use]
    pub fn arguments(self) -> Vec<String> {
        let words: &[&dyn std::fmt::Display] = match &self {
            Self::Lines(bytes) => &[&"--produce", &"lines", &"--amount", bytes],
            Self::Chunks(bytes) => &[&"--produce", &"chunks", &"--amount", bytes],
            Self::Conversation(bytes) => &[&"--produce", &"conversation", &"--amount", bytes],
            Self::Fleet { rate, seconds } => &[
                &"--produce",
                &"fleet",
                &"--amount",
                rate,
                &"--seconds",
                seconds,
            ],
        };
        words.iter().map(ToString::to_string).collect()
    }

    /// Plays the role to its end.
    ///
    /// # Errors
    ///
    /// Nobody reads any more.
    pub fn play(self) -> io::Result<()> {
        match self {
            Self::Lines(bytes) => messages(bytes, |text| {
                text.split_inclusive(|&byte| byte == b'\n')
                    .try_for_each(|line| write_all(io::stdout(), line))
            }),
            Self::Chunks(bytes) => messages(bytes, |text| {
                text.chunks(CHUNK)
                    .try_for_each(|chunk| write_all(io::stdout(), chunk))
            }),
            Self::Conversation(bytes) => conversation(bytes),
            Self::Fleet { rate, seconds } => fleet(rate, Duration::from_secs(seconds)),
        }
    }
}

/// Tool calls of one turn.
const CALLS: usize = 2;

/// Writes turns of at least so many bytes: a streamed message, tool calls and a result each.
fn conversation(bytes: u64) -> io::Result<()> {
    let mut script = Script::default();
    let (mut made, mut turns) = (0, 0);
    while made < bytes {
        let mut text = Vec::with_capacity(2 * CHUNK);
        while text.len() < CHUNK {
            script = script.streamed(DELTAS).finished(CALLS);
            turns += 1;
            text.extend_from_slice(&script.take());
            text.extend_from_slice(&line::result(turns));
        }
        made += text.len() as u64;
        write_all(io::stdout(), &text)?;
    }
    Ok(())
}

/// Makes at least so many bytes of streamed messages, and writes them.
fn messages(bytes: u64, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut script = Script::default();
    let (mut made, mut batches) = (0, Vec::<Bytes>::new());
    while made < bytes {
        for _ in 0..BATCH {
            script = script.streamed(DELTAS);
        }
        let text = script.take();
        made += text.len() as u64;
        batches.push(text);
    }
    // A first line says that all is made; the rest waits for the word.
    let (first, rest) = batches.split_at_mut(1);
    let line = first[0]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(0, |end| end + 1);
    write(&first[0].split_to(line))?;
    io::stdin().read_exact(&mut [0])?;
    first
        .iter()
        .chain(rest.iter())
        .try_for_each(|text| write(text))
}

fn write_all(to: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::write(&to, bytes)?;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}

fn fleet(rate: u64, counted: Duration) -> io::Result<()> {
    let outputs = outputs()?;
    let begin = Script::default().begin().take();
    for output in &outputs {
        write_all(output, &begin)?;
    }
    let mut line = Vec::new();
    let (start, mut number) = (line::now(), 0);
    let mut run_until = |end: u64| -> io::Result<u64> {
        let first = number;
        loop {
            let now = line::now();
            if now >= end {
                return Ok(number - first);
            }
            let due = start + number * 1_000_000_000 / rate;
            if due > now {
                sleep(Duration::from_nanos(due - now));
                continue;
            }
            let turn = usize::try_from(number).unwrap_or_default() % outputs.len();
            // Lines two and three of a stream are the beginning of the message.
            line::write(&mut line, 3 + number, now);
            write_all(&outputs[turn], &line)?;
            number += 1;
        }
    };
    let begin = start + nanos(WARM);
    run_until(begin)?;
    say(&format!("begin {begin}"))?;
    let lines = run_until(begin + nanos(counted))?;
    say(&format!("end {lines}"))?;
    // Whoever counts says when it is over.
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// The pipes that the processes named on stdin have as their stdout, opened once more. An empty
/// line ends the names.
fn outputs() -> io::Result<Vec<OwnedFd>> {
    let mut outputs = Vec::new();
    for pid in io::stdin().lock().lines() {
        let pid = pid?;
        if pid.is_empty() {
            break;
        }
        let pipe = OpenOptions::new()
            .write(true)
            .open(format!("/proc/{pid}/fd/1"))?;
        outputs.push(pipe.into());
    }
    Ok(outputs)
}
