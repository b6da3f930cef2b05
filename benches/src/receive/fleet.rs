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

/// One session of so many has a reader that takes every change and looks when it was written.
const READERS: usize = 10;

/// Sessions, and how fast each is written to.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    /// Sessions.
    pub sessions: usize,
    /// Lines a second, all together.
    pub rate: u64,
    /// Seconds that count.
    pub seconds: u64,
}

/// What receiving took.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Received {
    /// Lines.
    pub lines: u64,
    /// CPU time of the reactor for a line, in microseconds: reading, parsing, folding, and the
    /// readers of every tenth session.
    pub us_per_line: f64,
    /// Share of one processor.
    pub load: f64,
    /// Share of the time in which the reactor could run and others had the processor. Latencies are
    /// no figure when that is not next to nothing.
    pub starved: f64,
    /// Times that the reactor slept, for a line.
    pub sleeps_per_line: f64,
    /// Calls of read(2), for a line.
    pub reads_per_line: f64,
    /// Half of the lines were in a reader's hands so many microseconds after their write(2).
    pub p50_us: f64,
    /// 99 of 100 were.
    pub p99_us: f64,
    /// Resident memory of this process for a session, all that was said included, in bytes.
    pub resident: u64,
}

impl Fleet {
    /// Starts the sessions, lets them be written to, and ends them.
    ///
    /// # Errors
    ///
    /// A session or the writer cannot be started.
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

/// A reader of a session: notes for each line when it was written and when it was here.
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
    says: Lines<BufReader<ChildStdout>>,
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
        let says = BufReader::new(output).lines();
        Ok(Self { child, says })
    }

    /// The number that it says next, behind these words.
    pub(super) async fn number(&mut self, words: &str) -> io::Result<u64> {
        let line = self.says.next_line().await?.unwrap_or_default();
        let number = line.strip_prefix(words).and_then(|text| text.parse().ok());
        number.ok_or_else(|| io::Error::other("the writer of the fleet ended early"))
    }

    pub(super) async fn end(mut self) -> io::Result<()> {
        drop(self.child.stdin.take());
        self.child.wait().await.map(drop)
    }
}
