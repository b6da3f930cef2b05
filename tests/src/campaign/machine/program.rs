//! The campaigns' binary as runner, shim and child.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bowline_runner::{Runner, ServeConfiguration, ServeLimits, ShimProgram, StateDir, run_shim};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};

use super::output::{OutputSequence, Typed};

/// Serves the sessions of a folder until it is stopped, or its parent exits.
pub(super) const RUNNER: &str = "--runner";
/// Owns a session.
pub(super) const SHIM: &str = "--shim";
/// Writes the bytes of a seed, one block per interval, until its input ends. Arguments: seed,
/// interval in milliseconds.
pub(in crate::campaign) const SPEAK: &str = "--speak";

/// Allocates memory until none is left.
pub(super) const HOG: &str = "--hog";

/// Reads and verifies a session. Arguments: socket, session, seed.
pub(super) const FOLLOW: &str = "--follow";

/// Keeps prompts in files until it is killed.
#[cfg(target_os = "linux")]
pub(super) const KEEP: &str = "--keep-prompts";

/// Hosts a dialogue with the real agent, controlled by its input.
pub(super) const CONVERSE: &str = "--converse";

/// Runs the understudy.
pub(super) const AGENT: &str = "--agent";

/// Printed by a runner when it is ready.
pub(super) const READY: &str = "ready";

pub(super) fn run(args: &[String]) -> Option<ExitCode> {
    let number = |index: usize| args.get(index).and_then(|text| text.parse::<u64>().ok());
    match args.first()?.as_str() {
        RUNNER => Some(serve(args.get(1)?.as_ref(), args.get(2)?.as_ref())),
        SHIM => Some(run_shim()),
        SPEAK => Some(speak(number(1)?, number(2)?)),
        HOG => Some(hog()),
        AGENT => Some(understudy::run(args.iter().skip(1).map(Into::into))),
        super::editors::EDITOR => Some(super::editors::pipe(args.get(1)?, args.get(2)?)),
        CONVERSE => Some(super::real_agent::host::run()),
        #[cfg(target_os = "linux")]
        KEEP => Some(super::prompt_files::keep()),
        FOLLOW => Some(follow(args.get(1)?, args.get(2)?, number(3)?)),
        _ => None,
    }
}

/// The socket of a runner in a folder.
pub(super) fn socket(folder: &Path) -> PathBuf {
    folder.join("runner.sock")
}

/// The session folder of a runner.
pub(super) fn state(folder: &Path) -> Result<StateDir, String> {
    StateDir::at(folder.join("state")).map_err(|error| error.to_string())
}

pub(super) fn configuration(folder: &Path, program: &Path) -> Result<ServeConfiguration, String> {
    Ok(ServeConfiguration {
        state: state(folder)?,
        shim: ShimProgram {
            path: program.into(),
            args: vec![SHIM.into()],
        },
        socket: Some(socket(folder)),
        listen: Vec::new(),
        token_file: folder.join("token"),
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: None,
        limits: ServeLimits {
            sessions: 2_000,
            // Links are cut more often here than in production.
            attaches_per_second: 10_000,
            ..ServeLimits::default()
        },
        policy: Default::default(),
    })
}

fn serve(folder: &Path, program: &Path) -> ExitCode {
    match bowline_runner::runtime() {
        Ok(runtime) => runtime.block_on(serve_until_stopped(folder, program)),
        Err(_) => ExitCode::from(7),
    }
}

async fn serve_until_stopped(folder: &Path, program: &Path) -> ExitCode {
    let Ok(configuration) = configuration(folder, program) else {
        return ExitCode::from(3);
    };
    // Read on the reactor, since a thread may not be available.
    let Ok(mut input) = own_input() else {
        return ExitCode::from(6);
    };
    let (Ok(mut polite), Ok(runner)) = (
        signal(SignalKind::terminate()),
        Runner::start(configuration).await,
    ) else {
        return ExitCode::from(4);
    };
    if writeln!(std::io::stdout(), "{READY}").is_err() {
        return ExitCode::from(5);
    }
    let mut byte = [0];
    tokio::select! {
        _ = polite.recv() => {}
        _ = input.read(&mut byte) => {}
    }
    runner.stop().await;
    ExitCode::SUCCESS
}

fn own_input() -> std::io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(rustix::io::dup(rustix::stdio::stdin())?)
}

#[tokio::main(flavor = "current_thread")]
async fn follow(socket: &str, id: &str, seed: u64) -> ExitCode {
    let Ok(id) = id.parse() else {
        return ExitCode::from(2);
    };
    let followed = super::stopped::follow(socket, id, seed).await;
    if let Err(why) = &followed {
        let _ = writeln!(std::io::stderr(), "{why}");
    }
    // The thread that reads the input does not exit by itself.
    std::process::exit(i32::from(followed.is_err()))
}

/// Prints a digest of the input to standard error at the end.
fn speak(seed: u64, pause_ms: u64) -> ExitCode {
    let mut speech = OutputSequence::new(seed);
    let mut typed = Typed::default();
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut buffer = vec![0; 64 << 10];
    let pause = Timespec {
        tv_sec: 0,
        tv_nsec: (pause_ms * 1_000_000).cast_signed(),
    };
    loop {
        if output
            .write_all(&speech.block())
            .and_then(|()| output.flush())
            .is_err()
        {
            return ExitCode::from(9);
        }
        let stdin = rustix::stdio::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, Some(&pause)) {
            Ok(0) | Err(_) => {}
            Ok(_) => match input.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(count) => typed.add(buffer.get(..count).unwrap_or_default()),
            },
        }
    }
    let written = writeln!(std::io::stderr(), "{typed}");
    written.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// Ends by itself only if the memory limit is not enforced.
fn hog() -> ExitCode {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    for _ in 0..4_096 {
        taken.push(vec![1; 1 << 20]);
    }
    ExitCode::from(u8::from(taken.is_empty()))
}
