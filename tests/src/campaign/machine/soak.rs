//! Sessions for a long time, over links that are cut every two seconds.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bowline_lifecycle::{DialogueConfiguration, DialogueSession, Place};
use bowline_runner::SessionSpec;
use bowline_runner::wire::SessionKind;
use bowline_transport::{Attachment, Remote, RemoteUrl, SessionId, TerminalEngine, TokenFile};
use bytes::Bytes;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant as At, sleep_until};

use super::host::Host;
use super::program::{AGENT, SPEAK};
use super::station::Station;
use super::usage::{descriptors, own_memory, threads};
use crate::campaign::support::{own, runtime, within};
use crate::campaign::{Job, Random, Report};
use crate::chaos::{Address, ChaosProxy, Faults};
use crate::faceless::{difference, faceless};
use crate::session::{answered, terminate, transcript};

/// Between two cuts.
const EVERY: Duration = Duration::from_secs(2);

/// From so many cuts on it is a soak and not a rehearsal: with two hundred sessions, and held to
/// what it uses.
const LONG: u64 = 100;

/// Sessions of either.
const MANY: u64 = 200;
const FEW: u64 = 10;

/// Of so many sessions one is a dialogue.
const DIALOGUES: u64 = 10;

/// Bytes on disk that a session's journal may have.
const CAP: u64 = 1 << 20;

/// What a process may grow by in an hour, in bytes.
const GROWTH: f64 = 1048576.0;

/// Prompts of a dialogue, over and over.
const PROMPTS: [&str; 5] = [
    "hello",
    "/tool ls",
    "/agent look around",
    "/lines 40",
    "/fail ls",
];

pub(crate) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    if let Err(error) = runtime().block_on(campaign(job, &mut report)) {
        report.violation(error);
    }
    report
}

async fn campaign(job: &Job, report: &mut Report) -> Result<(), String> {
    let sessions = if job.count >= LONG { MANY } else { FEW };
    let mut random = Random::new(job.seed);
    let station = Station::new().await?;
    let to = Address::Unix(super::program::socket(station.folder()));
    let proxy = ChaosProxy::start(to, job.seed, Faults::default()).await;
    let proxy = proxy.map_err(|error| error.to_string())?;
    // It cuts when it is told to, and at no other time.
    proxy.be_kind();
    let remote = through(&proxy, &station);
    let mut hosts = Vec::new();
    for _ in 0..sessions - sessions / DIALOGUES {
        hosts.push(speaker(&station, &remote, random.draw()).await?);
    }
    let end = At::now() + EVERY * u32::try_from(job.count).unwrap_or(u32::MAX);
    let dialogues: Vec<_> = (0..sessions / DIALOGUES)
        .map(|_| {
            tokio::spawn(converse(
                configuration(Some(remote.clone())),
                Until::Time(end),
            ))
        })
        .collect();
    let mut usage = Usage::new(&station, &hosts)?;
    for number in 0..job.count {
        let due = end - EVERY * u32::try_from(job.count - number).unwrap_or(0);
        sleep_until(due + EVERY / 2).await;
        proxy.cut_all();
        report.done += 1;
        sleep_until(due + EVERY).await;
        usage.look(station.folder())?;
        for host in &hosts {
            host.fine()?;
        }
    }
    report.note(format!(
        "{sessions} sessions, {} links were cut",
        proxy.met().len()
    ));
    check(dialogues, report).await?;
    for host in hosts {
        if let Err(why) = host.finish().await {
            report.violation(format!("at the end: {why}"));
        }
    }
    usage.tell(job.count >= LONG, report);
    Ok(())
}

/// The runner over TCP, through the proxy.
fn through(proxy: &ChaosProxy, station: &Station) -> Remote {
    let url = RemoteUrl::Tcp {
        host: proxy.address().ip().to_string(),
        port: proxy.address().port(),
        tls: false,
    };
    Remote::new(url).with_credentials(TokenFile(station.folder().join("token")))
}

/// A session with a journal that soon is as long as it may be.
async fn speaker(station: &Station, remote: &Remote, seed: u64) -> Result<Host, String> {
    let mut spec = SessionSpec::new(SessionKind::Dialogue, own().display().to_string());
    spec.args = vec![SPEAK.into(), seed.to_string(), "100".into()];
    spec.journal.cap_bytes = CAP;
    let body = serde_json::to_vec(&spec).map_err(|error| error.to_string())?;
    let here = station.remote();
    let asked = here.ask("POST", "/api/sessions", Bytes::from(body));
    let (status, body) = asked.await.map_err(|error| error.to_string())?;
    if status != 201 {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&body)));
    }
    let id: SessionId = spec.id;
    let attachment = Attachment {
        patience: Duration::from_secs(30),
        ..Attachment::default()
    };
    let joined = TerminalEngine.attach_remote(remote, id, attachment);
    let joined = within("an attach", joined).await?;
    Ok(Host::of(joined.map_err(|error| error.to_string())?, seed))
}

/// The understudy, at a runner or here.
fn configuration(remote: Option<Remote>) -> DialogueConfiguration {
    DialogueConfiguration {
        program: own().into(),
        leading_args: vec![AGENT.into()],
        args: vec!["--pace".into(), "0".into()],
        place: remote.map_or(Place::Here, Place::Runner),
        ..DialogueConfiguration::default()
    }
}

/// How long a conversation goes on.
#[derive(Clone, Copy, Debug)]
enum Until {
    Time(At),
    Prompts(usize),
}

/// Talks, and answers with the number of prompts and what the transcript is in the end.
async fn converse(configuration: DialogueConfiguration, until: Until) -> (usize, Value) {
    let session = DialogueSession::start(configuration).await;
    let session = session.expect("the understudy starts");
    let mut said = 0;
    for prompt in PROMPTS.iter().cycle() {
        let is_over = match until {
            Until::Time(end) => At::now() >= end,
            Until::Prompts(count) => said == count,
        };
        if is_over {
            break;
        }
        answered(&session, prompt).await;
        said += 1;
        if let Until::Time(_) = until {
            sleep_until(At::now() + Duration::from_millis(300)).await;
        }
    }
    let told = faceless(transcript(&session).await);
    terminate(&session).await;
    (said, told)
}

/// Each transcript is the one of the same conversation that nobody interrupted.
async fn check(
    dialogues: Vec<JoinHandle<(usize, Value)>>,
    report: &mut Report,
) -> Result<(), String> {
    let (mut said, mut equal) = (0, 0);
    for dialogue in dialogues {
        let ended = within("a dialogue's end", dialogue).await?;
        let (count, told) = ended.map_err(|error| error.to_string())?;
        let here = converse(configuration(None), Until::Prompts(count));
        let (_, expected) = here.await;
        said += count;
        match difference(&told, &expected, "transcript") {
            None => equal += 1,
            Some(what) => report.violation(format!("after {count} prompts: {what}")),
        }
    }
    report.note(format!(
        "{equal} dialogues of {said} prompts are as those nobody interrupted"
    ));
    Ok(())
}

/// What the runner and the shims use, look by look.
struct Usage {
    pids: Vec<u32>,
    started: Instant,
    looks: Vec<Look>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Look {
    at: f64,
    /// Memory, descriptors, threads, bytes of journals.
    used: [f64; 4],
}

impl Usage {
    fn new(station: &Station, hosts: &[Host]) -> Result<Self, String> {
        let state = station.state()?;
        let shims = hosts.iter().map(|host| {
            let info = state.session(host.session.id()).info();
            info.ok().flatten().map(|info| info.shim_pid)
        });
        Ok(Self {
            pids: shims.flatten().chain(station.pid()).collect(),
            started: Instant::now(),
            looks: Vec::new(),
        })
    }

    fn look(&mut self, folder: &Path) -> Result<(), String> {
        let journals = bytes_below(folder).map_err(|error| error.to_string())?;
        let used = [
            own_memory(&self.pids),
            descriptors(&self.pids),
            threads(&self.pids),
            journals,
        ];
        self.looks.push(Look {
            at: self.started.elapsed().as_secs_f64(),
            used: used.map(|it| it as f64),
        });
        Ok(())
    }

    /// Compares the last quarter with the second one: in the first everything grows.
    fn tell(&self, is_held: bool, report: &mut Report) {
        let quarter = self.looks.len() / 4;
        let early = mean(self.looks.get(quarter..2 * quarter).unwrap_or_default());
        let late = mean(self.looks.get(3 * quarter..).unwrap_or_default());
        let hours = (late.at - early.at) / 3_600.0;
        let each = self.pids.len() as f64;
        let slope = |index: usize| (late.used[index] - early.used[index]) / hours.max(1e-9);
        report.note(format!(
            "{:.1} MiB, {:.0} descriptors, {:.0} threads of {each:.0} processes, {:.1} MiB of \
             journals",
            late.used[0] / 1048576.0,
            late.used[1],
            late.used[2],
            late.used[3] / 1048576.0
        ));
        if !is_held || hours <= 0.0 {
            return;
        }
        report.note(format!(
            "in an hour they would grow by {:.0} KiB a process, {:.1} descriptors, {:.1} threads, \
             {:.1} MiB of journals",
            slope(0) / each / 1024.0,
            slope(1),
            slope(2),
            slope(3) / 1048576.0
        ));
        if slope(0) / each > GROWTH {
            report.violation(format!(
                "memory grows by {:.0} bytes an hour",
                slope(0) / each
            ));
        }
        // A link that is just being made has some of its own.
        if late.used[1] > early.used[1] * 1.05 || late.used[2] > early.used[2] * 1.05 {
            report.violation("descriptors or threads become more");
        }
        if late.used[3] > each * CAP as f64 * 1.1 {
            report.violation("the journals are longer than they may be");
        }
    }
}

fn mean(looks: &[Look]) -> Look {
    let count = looks.len().max(1) as f64;
    let mut sum = Look::default();
    for look in looks {
        sum.at += look.at / count;
        for (sum, one) in sum.used.iter_mut().zip(look.used) {
            *sum += one / count;
        }
    }
    sum
}

/// Bytes of all journals' segments.
fn bytes_below(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        // What is dropped while it is counted is gone.
        let Ok(entry) = entry else { continue };
        let Ok(found) = entry.metadata() else {
            continue;
        };
        if found.is_dir() {
            bytes += bytes_below(&entry.path()).unwrap_or(0);
        } else if entry.path().extension().is_some_and(|it| it == "bjl") {
            bytes += found.len();
        }
    }
    Ok(bytes)
}
