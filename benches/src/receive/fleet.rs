//! Many busy sessions on one reactor.

use std::cell::RefCell;
use std::env;
use std::io;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use bowline_lifecycle::DialogueSession;
use bowline_reducer::{Change, Changes, Cursor};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::LocalSet;

use super::{Role, agent, line, one_reactor, status};
use crate::clock::thread_cpu_time;

/// One of this many sessions has a reader that takes every change and records when its line was
/// written.
const READERS: usize = 10;

/// Sessions and their rate of lines.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    /// Number of sessions.
    pub sessions: usize,
    /// Lines per second in total.
    pub rate: u64,
    /// Seconds that are measured.
    pub seconds: u64,
}

/// Cost of receiving.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Received {
    /// Number of lines.
    pub lines: u64,
    /// CPU time of the reactor per line, in microseconds: reading, parsing, folding, and the
    /// readers of every tenth session.
    pub us_per_line: f64,
    /// Share of one processor.
    pub load: f64,
    /// Share of time in which the reactor was runnable and other threads had the processor.
    /// Latencies are meaningful only if it is near 0.
    pub starved: f64,
    /// Sleeps of the reactor per line.
    pub sleeps_per_line: f64,
    /// Calls of read(2) per line.
    pub reads_per_line: f64,
    /// Median time from write(2) to the reader, in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the same.
    pub p99_us: f64,
    /// Resident memory of this process per session, its content included, in bytes.
    pub resident: u64,
}

impl Fleet {
    /// Starts the sessions, runs the writer, and ends the sessions.
    ///
    /// # Errors
    ///
    /// Fails if a session or the writer cannot be started.
    pub fn run(self) -> io::Result<Received> {
        one_reactor().block_on(LocalSet::new().run_until(self.received()))
    }

    async fn received(self) -> io::Result<Received> {
        let empty = status::resident();
        let mut sessions = Vec::new();
        for _ in 0..self.sessions {
            let session = DialogueSession::start(agent::silent()).await;
            sessions.push(session.map_err(io::Error::other)?);
        }
        let seen = Rc::new(RefCell::new(Vec::new()));
        for session in sessions.iter().step_by(READERS) {
            tokio::task::spawn_local(look(session.clone(), Rc::clone(&seen)));
        }
        let mut writer = Writer::start(self, &sessions).await?;
        let begin = writer.number("begin ").await?;
        let before = Mark::now();
        let lines = writer.number("end ").await?;
        let mut received = before.until(lines);
        received.resident = status::resident().saturating_sub(empty) / self.sessions as u64;
        let latencies: Vec<_> = seen.borrow().clone();
        received.set_latencies(begin, &latencies);
        writer.end().await?;
        agent::end(sessions).await;
        Ok(received)
    }
}

impl Received {
    fn set_latencies(&mut self, begin: u64, seen: &[(u64, u64)]) {
        let counted = seen.iter().filter(|(written, _)| *written >= begin);
        let mut times: Vec<u64> = counted.map(|(written, read)| read - written).collect();
        times.sort_unstable();
        let at = |part: f64| {
            let index = (times.len() as f64 * part) as usize;
            times
                .get(index)
                .map_or(f64::NAN, |&nanos| nanos as f64 / 1e3)
        };
        (self.p50_us, self.p99_us) = (at(0.5), at(0.99));
    }
}

/// Counters of this thread at one moment.
struct Mark {
    wall: std::time::Instant,
    cpu: Duration,
    starved: Duration,
    sleeps: u64,
    reads: u64,
}

impl Mark {
    fn now() -> Self {
        Self {
            wall: std::time::Instant::now(),
            cpu: thread_cpu_time(),
            starved: status::starved(),
            sleeps: status::sleeps(),
            reads: status::reads(),
        }
    }

    fn until(&self, lines: u64) -> Received {
        let cpu = thread_cpu_time().saturating_sub(self.cpu);
        let starved = status::starved().saturating_sub(self.starved);
        let wall = self.wall.elapsed().as_secs_f64();
        let each = |count: u64| count as f64 / lines as f64;
        Received {
            lines,
            us_per_line: cpu.as_secs_f64() * 1e6 / lines as f64,
            load: cpu.as_secs_f64() / wall,
            starved: starved.as_secs_f64() / wall,
            sleeps_per_line: each(status::sleeps() - self.sleeps),
            reads_per_line: each(status::reads() - self.reads),
            p50_us: f64::NAN,
            p99_us: f64::NAN,
            resident: 0,
        }
    }
}

/// Reads the changes of a session, and records for each line when it was written and when it
/// arrived.
async fn look(session: DialogueSession, seen: Rc<RefCell<Vec<(u64, u64)>>>) {
    let mut cursor = Cursor::default();
    while !session.has_ended() {
        let (next, written) = session.changes_since(cursor, written).await;
        let read = line::now();
        seen.borrow_mut()
            .extend(written.into_iter().map(|written| (written, read)));
        cursor = next;
        session.changed_since(cursor.revision()).await;
    }
}

fn written(changes: &Changes<'_>) -> Vec<u64> {
    let mut times = Vec::new();
    for change in changes.iter() {
        if let Change::Append { text, .. } = change {
            times.extend(line::times(&text.to_cow()));
        }
    }
    times
}

/// The process that writes to all sessions.
pub(super) struct Writer {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Writer {
    pub(super) async fn start(fleet: Fleet, sessions: &[DialogueSession]) -> io::Result<Self> {
        let role = Role::Fleet {
            rate: fleet.rate,
            seconds: fleet.seconds,
        };
        let mut child = Command::new(env::current_exe()?)
            .args(role.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let pids = sessions.iter().filter_map(DialogueSession::pid);
        let names: String = pids.map(|pid| format!("{pid}\n")).collect();
        let input = child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(format!("{names}\n").as_bytes()).await?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let lines = BufReader::new(output).lines();
        Ok(Self { child, lines })
    }

    /// Waits for the line with this prefix and returns the number after it.
    pub(super) async fn number(&mut self, words: &str) -> io::Result<u64> {
        let line = self.lines.next_line().await?.unwrap_or_default();
        let number = line.strip_prefix(words).and_then(|text| text.parse().ok());
        number.ok_or_else(|| io::Error::other("the writer of the fleet ended early"))
    }

    pub(super) async fn end(mut self) -> io::Result<()> {
        drop(self.child.stdin.take());
        self.child.wait().await.map(drop)
    }
}
