//! Real shims on a file system of one mebibyte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bowline_runner::wire::{Lease, Message, SessionKind, StreamId};
use bowline_runner::{SessionSpec, ShimProgram, StateDir, spawn_shim};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::net::UnixStream;

use super::frames::Frames;
use super::output::OutputSequence;
use super::program::{SHIM, SPEAK};
use super::station::send;
use crate::campaign::support::{own, runtime, within};
use crate::campaign::{Job, Random, Report};

/// Number of runs for each run with a real shim.
const EVERY: u64 = 100;

/// Bytes written before the journal is full, and again while it is full.
const BYTES: u64 = 2 << 20;

const OUT: StreamId = StreamId::STDOUT;

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let mut random = Random::new(job.seed);
    let runtime = runtime();
    for _ in 0..(job.count / EVERY).max(1) {
        let seed = random.draw();
        // One file system each, since a removed file occupies space until the last process has
        // closed it.
        let place = match Mounted::new() {
            Ok(place) => place,
            Err(why) => {
                report.note(format!("no shim on a small file system: {why}"));
                return report;
            }
        };
        let outcome = runtime.block_on(one(&place, seed));
        report.one(outcome.map_err(|why| format!("on a full file system, seed {seed}: {why}")));
    }
    report.note(format!("{} shims on a file system of 1 MiB", report.done));
    report
}

/// A file system of one mebibyte, unmounted on drop.
struct Mounted {
    folder: TempDir,
    at: PathBuf,
}

impl Mounted {
    fn new() -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("bw").tempdir_in("/tmp");
        let folder = folder.map_err(|error| error.to_string())?;
        let at = folder.path().join("m");
        fs::create_dir(&at).map_err(|error| error.to_string())?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m,mode=0700", "bowline"]);
        let done = mount.arg(&at).stderr(Stdio::piped()).output();
        let done = done.map_err(|error| error.to_string())?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).trim().to_owned());
        }
        Ok(Self { folder, at })
    }

    fn path(&self) -> &Path {
        &self.at
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A shim that is exiting may still have a file open there.
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
        let _ = fs::remove_dir(&self.at);
        let _ = fs::remove_dir(self.folder.path());
    }
}

/// The journal fills up, the failure is reported, and the journal resumes once there is space; the
/// child writes throughout.
async fn one(place: &Mounted, seed: u64) -> Result<(), String> {
    let state = StateDir::at(place.path()).map_err(|error| error.to_string())?;
    let filler = place.path().join("filler");
    fs::write(&filler, vec![0; 300 << 10]).map_err(|error| error.to_string())?;
    let program = ShimProgram {
        path: own(),
        args: vec![SHIM.into()],
    };
    let mut spec = SessionSpec::new(SessionKind::Dialogue, own().display().to_string());
    spec.args = vec![SPEAK.into(), seed.to_string(), "0".into()];
    spec.journal.cap_bytes = 900 << 10;
    let shim = spawn_shim(&program, &state, spec).await;
    let shim = shim.map_err(|error| error.to_string())?;
    let outcome = speak(&shim.folder, seed, &filler).await;
    send(shim.shim_pid, Signal::TERM);
    let ended = within("the shim's end", async {
        while shim
            .shim_pid
            .is_some_and(crate::campaign::support::is_alive)
        {
            tokio::task::yield_now().await;
        }
    });
    ended.await?;
    let _ = fs::remove_file(&filler);
    shim.folder.remove().map_err(|error| error.to_string())?;
    outcome
}

async fn speak(
    folder: &bowline_runner::SessionDir,
    seed: u64,
    filler: &Path,
) -> Result<(), String> {
    let link = folder.connect().await.map_err(|error| error.to_string())?;
    let cursors = BTreeMap::from([(OUT, 0), (StreamId::LIFECYCLE, 0)]);
    let joined = within(
        "an attach",
        Frames::join(link, folder.id(), Lease::Write, cursors),
    );
    let mut host = Host {
        frames: joined.await??.0,
        speech: OutputSequence::new(seed),
        read: 0,
        degraded: false,
        events: String::new(),
    };
    host.until("a full journal", |host| host.degraded && host.read >= BYTES)
        .await?;
    fs::remove_file(filler).map_err(|error| error.to_string())?;
    host.until("a journal again", |host| host.events.contains("recovered"))
        .await?;
    let more = host.read + BYTES;
    host.until("more output", |host| host.read >= more).await
}

struct Host {
    frames: Frames<UnixStream>,
    speech: OutputSequence,
    read: u64,
    degraded: bool,
    events: String,
}

impl Host {
    /// Receives messages until a condition holds, with one timeout for all of them, since the child
    /// never exits.
    async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> Result<(), String> {
        let reading = async {
            while !holds(self) {
                let message = self.frames.next().await;
                self.receive(message.map_err(|why| format!("{what}: {why}"))?)?;
            }
            Ok(())
        };
        within(what, reading).await?
    }

    fn receive(&mut self, message: Message) -> Result<(), String> {
        match message {
            Message::Data { stream, bytes, .. } if stream == OUT => {
                self.read = self.speech.check_bytes(&bytes)?;
            }
            Message::Data { bytes, .. } => self.events += &String::from_utf8_lossy(&bytes),
            Message::Degraded { .. } => self.degraded = true,
            Message::Gap { from, to, .. } => return Err(format!("{from}..{to} is lost")),
            _ => {}
        }
        Ok(())
    }
}
