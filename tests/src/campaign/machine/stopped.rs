//! Processes that are stopped and continued later: hosts, the runner, shims and children.

use std::process::Stdio;
use std::time::Duration;

use bowline_transport::{Attachment, Remote, RemoteUrl, SessionId, TerminalEngine};
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::sleep;

use super::host::Host;
use super::program::FOLLOW;
use super::station::{Station, send};
use crate::campaign::support::{own, run_to_end, within};
use crate::campaign::{Job, Random, Report};

/// Number of sessions, each with a host in its own process.
const SESSIONS: u64 = 4;

/// Pause between two blocks of a session, in milliseconds.
const PAUSE_MS: u64 = 5;

/// One of this many stops is longer than the silence timeout of a link.
const LONG_EVERY: u64 = 100;

/// Duration of such a stop; a link counts as dead after 14 s.
const LONG: Duration = Duration::from_secs(17);

/// Maximum duration of the other stops, in milliseconds.
const SHORT_MS: u64 = 400;

pub(crate) fn run(job: &Job) -> Report {
    run_to_end(job, campaign)
}

/// The process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Host,
    Runner,
    Shim,
    Child,
}

impl Target {
    const ALL: [Self; 4] = [Self::Host, Self::Runner, Self::Shim, Self::Child];
}

async fn campaign(job: &Job, report: &mut Report) -> Result<(), String> {
    let mut random = Random::new(job.seed);
    let station = Station::new().await?;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(Session::start(&station, random.draw()).await?);
    }
    let mut stopped = Duration::ZERO;
    for number in 0..job.count {
        let target = Target::ALL[random.below(4) as usize];
        let session = &mut sessions[random.below(SESSIONS) as usize];
        let long = job.count >= LONG_EVERY && number % LONG_EVERY == LONG_EVERY - 1;
        let pause = match long {
            true => LONG,
            false => Duration::from_millis(100 + random.below(SHORT_MS)),
        };
        let pid = match target {
            Target::Host => session.host.id(),
            Target::Runner => station.pid(),
            Target::Shim => Some(session.shim),
            Target::Child => session.child,
        };
        send(pid, Signal::STOP);
        sleep(pause).await;
        send(pid, Signal::CONT);
        stopped += pause;
        let outcome = session.goes_on().await;
        report.one(outcome.map_err(|why| format!("{target:?} for {pause:?}: {why}")));
    }
    for session in sessions {
        if let Err(why) = session.finish().await {
            report.violation(format!("at the end: {why}"));
        }
    }
    report.note(format!(
        "{SESSIONS} sessions; stopped for {:.0} s altogether",
        stopped.as_secs_f64()
    ));
    Ok(())
}

/// A session with a host in its own process, which reports how far it has read.
pub(super) struct Session {
    host: Child,
    replies: Lines<BufReader<ChildStdout>>,
    shim: u32,
    child: Option<u32>,
}

impl Session {
    pub(super) async fn start(station: &Station, seed: u64) -> Result<Self, String> {
        let remote = station.remote();
        let order = station.speaker(seed, PAUSE_MS);
        let made = within("a session", TerminalEngine.make_remote(&remote, &order)).await?;
        let made = made.map_err(|error| error.to_string())?;
        let (id, child) = (made.id(), made.pid());
        made.detach();
        let info = station.state()?.session(id).info();
        let info = info.map_err(|error| error.to_string())?;
        let mut host = Command::new(own());
        let socket = super::program::socket(station.folder());
        host.arg(FOLLOW)
            .arg(socket)
            .args([id.to_string(), seed.to_string()]);
        host.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut host = host
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| error.to_string())?;
        let stdout = host.stdout.take().ok_or("no output of a host")?;
        Ok(Self {
            host,
            replies: BufReader::new(stdout).lines(),
            shim: info.ok_or("no info of a session")?.shim_pid,
            child,
        })
    }

    /// Process ids of host, shim and child.
    pub(super) fn pids(&self) -> Vec<u32> {
        let all = [self.host.id(), Some(self.shim), self.child];
        all.into_iter().flatten().collect()
    }

    /// Checks that the host makes progress between two queries.
    pub(super) async fn goes_on(&mut self) -> Result<(), String> {
        let before = self.ask("read\n").await?;
        loop {
            if self.ask("read\n").await? > before {
                return Ok(());
            }
            sleep(Duration::from_millis(2)).await;
        }
    }

    async fn ask(&mut self, what: &str) -> Result<u64, String> {
        let input = self.host.stdin.as_mut().ok_or("no input of a host")?;
        let written = input.write_all(what.as_bytes()).await;
        written.map_err(|error| error.to_string())?;
        let reply = within("an answer of the host", self.replies.next_line()).await?;
        let reply = reply
            .map_err(|error| error.to_string())?
            .ok_or("the host is gone")?;
        reply.parse().map_err(|_| reply)
    }

    /// Checks that all output and all input arrived.
    pub(super) async fn finish(mut self) -> Result<(), String> {
        self.ask("finish\n").await.map(drop)
    }
}

/// The host: answers each line of its input with the number of bytes read, or with an error.
pub(super) async fn follow(socket: &str, id: SessionId, seed: u64) -> Result<(), String> {
    let remote = Remote::new(RemoteUrl::Unix(socket.into()));
    let attachment = Attachment {
        connect_timeout: Duration::from_secs(30),
        ..Attachment::default()
    };
    let joined = TerminalEngine.attach_remote(&remote, id, attachment).await;
    let mut host = Host::of(joined.map_err(|error| error.to_string())?, seed);
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    let mut output = tokio::io::stdout();
    while let Ok(Some(line)) = orders.next_line().await {
        let answer = match line.as_str() {
            "finish" => {
                let read = host.read();
                let done = host.finish().await.map(|()| read);
                return write_line(&mut output, done).await;
            }
            line => {
                let typed = host.type_in(line);
                let written = typed.await.map_err(|error| error.to_string())?;
                written.and_then(|()| host.fine()).map(|()| host.read())
            }
        };
        write_line(&mut output, answer).await?;
    }
    Ok(())
}

async fn write_line(
    output: &mut tokio::io::Stdout,
    what: Result<u64, String>,
) -> Result<(), String> {
    let text = match what {
        Ok(read) => format!("{read}\n"),
        Err(why) => format!("{}\n", why.replace('\n', " ")),
    };
    let written = output.write_all(text.as_bytes()).await;
    written
        .and(output.flush().await)
        .map_err(|error| error.to_string())
}
