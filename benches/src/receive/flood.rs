//! One writer that never rests: ours beside a bare loop.

use std::env;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bowline_jsonl::Prompt;
use bowline_lifecycle::DialogueSession;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::{Role, agent, one_reactor, status};
use crate::clock::thread_cpu_time;

/// Bytes of a read, and of the pipe that ours asks for: the bare loop has the same.
const READ: usize = 64 << 10;
const PIPE: usize = 1 << 20;

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A dialogue session, from the pipe to the transcript.
    Session,
    /// A loop of blocking reads that looks at nothing, on a pipe of the same size as ours.
    Bare,
    /// The same on a pipe as the system gives it.
    BareSmallPipe,
}

/// What reading a flood took.
#[derive(Clone, Copy, Debug)]
pub struct Flooded {
    /// Bytes that were counted.
    pub bytes: u64,
    /// Time from the word to write to the last bytes folded.
    pub wall: Duration,
    /// Time that the reading thread was on a processor.
    pub cpu: Duration,
    /// Calls of read(2).
    pub reads: u64,
}

impl Flooded {
    /// Megabytes a second.
    #[must_use]
    pub fn by_wall(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.wall.as_secs_f64()
    }

    /// Megabytes a second of a processor.
    #[must_use]
    pub fn by_cpu(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.cpu.as_secs_f64()
    }
}

/// Marks the beginning of what is counted.
struct Mark {
    bytes: u64,
    wall: Instant,
    cpu: Duration,
    reads: u64,
}

impl Mark {
    fn at(bytes: u64) -> Self {
        Self {
            bytes,
            wall: Instant::now(),
            cpu: thread_cpu_time(),
            reads: status::reads(),
        }
    }

    fn until(&self, bytes: u64) -> Flooded {
        Flooded {
            bytes: bytes - self.bytes,
            wall: self.wall.elapsed(),
            cpu: thread_cpu_time().saturating_sub(self.cpu),
            reads: status::reads() - self.reads,
        }
    }
}

/// Lets a child write and reads it to its end.
///
/// # Errors
///
/// The child cannot be started.
pub fn flood(reader: Reader, role: Role) -> io::Result<Flooded> {
    match reader {
        Reader::Session => one_reactor().block_on(session(role)),
        Reader::Bare => bare(role, Some(PIPE)),
        Reader::BareSmallPipe => bare(role, None),
    }
}

async fn session(role: Role) -> io::Result<Flooded> {
    let (Role::Lines(total) | Role::Chunks(total)) = role else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let session = DialogueSession::start(agent::playing(role)?)
        .await
        .map_err(io::Error::other)?;
    let mark = Mark::at(agent::folded(&session, 1).await);
    let word = Prompt::text("go");
    session.send(word).await.map_err(io::Error::other)?;
    let flooded = mark.until(agent::folded(&session, total).await);
    session.terminate().await;
    Ok(flooded)
}

fn bare(role: Role, pipe: Option<usize>) -> io::Result<Flooded> {
    let (output, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    if let Some(bytes) = pipe {
        fcntl_setpipe_size(&stdout, bytes)?;
    }
    let mut command = Command::new(env::current_exe()?);
    let mut child = command
        .args(role.arguments())
        .stdin(Stdio::piped())
        .stdout(stdout)
        .spawn()?;
    // The command holds the writing end, and with it the end of the stream.
    drop(command);
    let mut buffer = vec![0; READ];
    let mut bytes = rustix::io::read(&output, &mut buffer)? as u64;
    let mark = Mark::at(bytes);
    let word = child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    word.write_all(b"go\n")?;
    loop {
        match rustix::io::read(&output, &mut buffer)? {
            0 => break,
            more => bytes += more as u64,
        }
    }
    let flooded = mark.until(bytes);
    child.wait()?;
    Ok(flooded)
}
