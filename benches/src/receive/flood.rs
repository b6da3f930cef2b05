//! One writer without pauses: a session in comparison with a bare loop.

use std::env;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bowline_jsonl::Prompt;
use bowline_lifecycle::DialogueSession;

use super::{Role, agent, one_reactor, status};
use crate::clock::thread_cpu_time;

/// Bytes of a read, and the pipe size that a session requests; the bare loop uses the same.
const READ: usize = 64 << 10;
const PIPE: usize = 1 << 20;

/// The reader that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A dialogue session, from the pipe to the transcript.
    Session,
    /// A loop of blocking reads that ignores the bytes, on a pipe of the same size as a session's.
    Bare,
    /// The same on a pipe of the default size.
    BareSmallPipe,
}

/// Cost of reading the stream.
#[derive(Clone, Copy, Debug)]
pub struct Flooded {
    /// Measured bytes.
    pub bytes: u64,
    /// Time from the start signal until the last bytes were folded.
    pub wall: Duration,
    /// CPU time of the reading thread.
    pub cpu: Duration,
    /// Calls of read(2).
    pub reads: u64,
}

impl Flooded {
    /// Returns megabytes per second of wall time.
    #[must_use]
    pub fn by_wall(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.wall.as_secs_f64()
    }

    /// Returns megabytes per second of CPU time.
    #[must_use]
    pub fn by_cpu(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.cpu.as_secs_f64()
    }
}

/// Counters at the start of the measured part.
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

/// Starts a child that writes, and reads to the end.
///
/// # Errors
///
/// Fails if the child cannot be started.
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

#[cfg(target_os = "linux")]
fn set_pipe_size(pipe: &io::PipeWriter, bytes: usize) -> io::Result<()> {
    rustix::pipe::fcntl_setpipe_size(pipe, bytes)?;
    Ok(())
}

/// Only Linux lets a program choose the size (`F_SETPIPE_SZ`, fcntl(2)).
#[cfg(not(target_os = "linux"))]
fn set_pipe_size(_: &io::PipeWriter, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn bare(role: Role, pipe: Option<usize>) -> io::Result<Flooded> {
    let (output, stdout) = io::pipe()?;
    if let Some(bytes) = pipe {
        set_pipe_size(&stdout, bytes)?;
    }
    let mut command = Command::new(env::current_exe()?);
    let mut child = command
        .args(role.arguments())
        .stdin(Stdio::piped())
        .stdout(stdout)
        .spawn()?;
    // Dropped, because the command holds the write end and would keep the stream open.
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
