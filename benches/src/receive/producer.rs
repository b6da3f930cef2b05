//! The process that writes the output of the sessions.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;

use super::line;
use crate::reduce::Script;

/// Deltas of one streamed message.
const DELTAS: usize = 40;

/// Messages generated at once.
const BATCH: usize = 100;

/// Bytes of one large write.
const CHUNK: usize = 65_817;

/// Duration of the warm-up before the fleet is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// Role of this program as a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Writes this many bytes of streamed messages to stdout, one write(2) per line.
    Lines(u64),
    /// The same in writes of about 64 KiB.
    Chunks(u64),
    /// The same with tool calls, their results and ends of turns in between, generated while it is
    /// written.
    Conversation(u64),
    /// Writes `rate` lines per second, in turn to the stdout of each process named on stdin.
    /// Reports the begin and end of the measured part on stdout.
    Fleet {
        /// Lines per second in total.
        rate: u64,
        /// Seconds that are measured.
        seconds: u64,
    },
}

impl Role {
    /// Returns the arguments that give this program the role.
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

    /// Runs the role until it is finished.
    ///
    /// # Errors
    ///
    /// Fails if the reader has closed the pipe.
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

/// Writes turns of at least this many bytes: a streamed message, tool calls and a result each.
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

/// Generates at least this many bytes of streamed messages, and writes them.
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
    // The first line reports that everything is generated; the rest waits for the start signal.
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
            // Lines two and three of a stream begin the message.
            line::write(&mut line, 3 + number, now);
            write_all(&outputs[turn], &line)?;
            number += 1;
        }
    };
    let begin = start + nanos(WARM_UP);
    run_until(begin)?;
    print_line(&format!("begin {begin}"))?;
    let lines = run_until(begin + nanos(counted))?;
    print_line(&format!("end {lines}"))?;
    // The measuring process closes stdin when it has finished.
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn print_line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Opens the stdout pipes of the processes named on stdin. An empty line ends the list.
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
