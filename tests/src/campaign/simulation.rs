//! Hosts of one session that connect and disconnect over an unreliable network, in virtual time.
//!
//! The session actor and the hosts are the production code; the child, the network and the clock
//! are simulated. Every choice derives from the seed and a single thread runs the schedule, so that
//! a seed reproduces a violation. Checked for every schedule:
//!
//! * the output that a host reads is contiguous, or a gap reports the missing range;
//! * a host that holds the write lease throughout misses nothing, whatever happens to its links;
//! * confirmed input was written; unconfirmed input was written at most once, completely and in
//!   order;
//! * every host that is connected at the end receives the exit, after the last byte.

mod child;
mod client;
mod network;

use std::sync::Arc;
use std::time::Duration;

use bowline_runner::wire::{Epoch, SessionFacts, SessionKind, SessionState, StdioKind, StreamId};
use bowline_runner::{
    Child, MachineConfiguration, OverflowPolicy, SessionHandle, StreamConfiguration,
};
use bowline_transport::{Containment, SessionId};
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::child::Played;
use self::client::{Client, HostRecord, Role};
use self::network::Conditions;
use super::{Job, Random, Report};

/// Number of hosts of each session.
const HOSTS: u64 = 5;

/// Size of the output ring. It is small, so that a disconnected host misses some output.
const RING_BYTES: usize = 32 << 10;

/// Upper bound of each phase of a schedule, in virtual time.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Phase of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Faults are injected.
    Faulty,
    /// The network works; hosts reconnect and stay.
    Calm,
}

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let mut sums = Sums::default();
    for number in 0..job.count {
        let seed = job.seed.wrapping_add(number);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime can be made");
        report.one(match runtime.block_on(schedule(seed)) {
            Ok(more) => {
                sums.add(more);
                Ok(())
            }
            Err(why) => Err(format!("seed {seed}: {why}")),
        });
    }
    report.note(format!("{sums}"));
    report
}

/// Counters that show that faults did occur.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    connections: u64,
    lives: u64,
    gaps: u64,
    lines: u64,
    bytes: u64,
}

impl Sums {
    fn add(&mut self, more: Self) {
        self.connections += more.connections;
        self.lives += more.lives;
        self.gaps += more.gaps;
        self.lines += more.lines;
        self.bytes += more.bytes;
    }
}

impl std::fmt::Display for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            connections,
            lives,
            gaps,
            lines,
            bytes,
        } = self;
        write!(
            f,
            "{connections} connections of {lives} hosts, {lines} lines typed, {bytes} bytes read, \
             {gaps} gaps reported"
        )
    }
}

async fn schedule(seed: u64) -> Result<Sums, String> {
    let mut random = Random::new(seed);
    let session = SessionId::random();
    let (child, end) = Child::channels([StreamId::STDOUT]);
    let host = SessionHandle::start(configuration(session), child);
    let played = Played::begin(end, Random::new(random.draw()));
    let conditions = Arc::new(Conditions::new(host, random.draw()));
    let phase = watch::Sender::new(Phase::Faulty);
    // Rivals for the lease take it from each other; a sole holder must never miss a byte.
    let is_contested = random.below(2) == 0;
    let mut hosts = JoinSet::new();
    for number in 0..HOSTS {
        let role = match number {
            0 if is_contested => Role::Rival,
            1 if is_contested => Role::Rival,
            0 => Role::Owner,
            _ => Role::Reader,
        };
        let client = Client::new(
            number,
            role,
            session,
            &conditions,
            Random::new(random.draw()),
        );
        hosts.spawn(client.live(phase.subscribe(), played.arrivals()));
    }
    let partitions = tokio::spawn(Arc::clone(&conditions).partition(Random::new(random.draw())));
    unless_one_fails(&mut hosts, "the child cannot write", played.wrote_all()).await?;
    partitions.abort();
    conditions.disable_faults();
    phase.send_replace(Phase::Calm);
    let ended = played.end_when_all_are_there(HOSTS);
    unless_one_fails(&mut hosts, "a host does not come back", ended).await?;
    let mut sums = Sums {
        connections: conditions.connections(),
        ..Sums::default()
    };
    let mut sent = Vec::new();
    while let Some(done) = in_time("a host hears of no end", hosts.join_next()).await? {
        let record = done.map_err(|error| error.to_string())??;
        sums.add(record.sums);
        sent.extend(record.sent);
    }
    sums.lines = played.check(&sent)?;
    Ok(sums)
}

/// Waits for a phase of the schedule, or for the failure of a host.
async fn unless_one_fails(
    hosts: &mut JoinSet<Result<HostRecord, String>>,
    what: &str,
    part: impl Future<Output = ()>,
) -> Result<(), String> {
    tokio::select! {
        biased;
        Some(done) = hosts.join_next() => match done.map_err(|error| error.to_string())? {
            Ok(_) => Err("a host saw the end before there was one".into()),
            Err(why) => Err(why),
        },
        done = in_time(what, part) => done,
    }
}

async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> Result<T, String> {
    let done = tokio::time::timeout(LONGEST, future).await;
    done.map_err(|_| format!("{what}, within {LONGEST:?}"))
}

fn configuration(session: SessionId) -> MachineConfiguration {
    let stream = |id, policy| StreamConfiguration {
        id,
        policy,
        ring_bytes: RING_BYTES,
    };
    MachineConfiguration {
        session,
        epoch: Epoch::random(),
        facts: SessionFacts {
            kind: SessionKind::Dialogue,
            stdio: StdioKind::Pipes,
            pid: None,
            size: None,
            containment: Containment::Group,
            state: SessionState::Running,
        },
        streams: vec![
            stream(StreamId::STDOUT, OverflowPolicy::Block),
            stream(StreamId::LIFECYCLE, OverflowPolicy::DropOldest),
        ],
        has_screen: false,
        exit_retention: None,
    }
}
