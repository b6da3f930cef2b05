//! A host whose runner misbehaves, in virtual time.
//!
//! The host is the production code, and so is the session that some connections reach. Between them, each
//! connection misbehaves in one of many ways: it is refused or stalls at any step, ends right after the
//! attach, asks for endless delays, redirects, or sends frames with extreme values. Checked for every
//! schedule:
//!
//! * no task panics;
//! * a link counts as up for at most 15 s after its last byte;
//! * there are at most 30 attempts to connect a minute;
//! * a host that detaches, as a second ^C does, is done within a second, and a termination ends by its
//!   deadline.

mod frames;
mod network;

use std::sync::Arc;
use std::time::Duration;

use bowline_runner::wire::{Epoch, SessionFacts, SessionKind, SessionState, StdioKind, StreamId};
use bowline_runner::{
    Child, MachineConfiguration, OverflowPolicy, SessionHandle, StreamConfiguration,
};
use bowline_transport::{
    Attachment, ConnectionState, Containment, Network, Remote, RemoteError, SessionId, Stream,
    TerminalEngine, TerminalSession, TerminationPolicy,
};
use tokio::time::{Instant, sleep, timeout};

use self::network::HostileNetwork;
use super::{Job, Random, Report};

/// How long a host uses its session before it leaves.
const VISIT: Duration = Duration::from_secs(5 * 60);

/// How long a host tries to attach.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest time of an attempt to connect.
const MAX_ATTEMPT: Duration = Duration::from_secs(10);

/// The longest time without a byte on a link that counts as up.
const MAX_SILENCE: Duration = Duration::from_secs(15);

const MINUTE: Duration = Duration::from_secs(60);

/// Maximum of attempts to connect a minute.
const MAX_ATTEMPTS: usize = 30;

/// The longest time of a detach.
const MAX_DETACH: Duration = Duration::from_secs(1);

/// The longest time of a termination in addition to its grace periods.
const MAX_TERMINATION: Duration = Duration::from_secs(61);

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let (mut attempts, mut joined, mut busiest) = (0, 0, 0);
    for number in 0..job.count {
        let seed = job.seed.wrapping_add(number);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime can be made");
        report.one(match runtime.block_on(schedule(seed)) {
            Ok(visit) => {
                attempts += visit.attempts;
                joined += u64::from(visit.is_joined);
                busiest = busiest.max(visit.busiest);
                Ok(())
            }
            Err(why) => Err(format!("seed {seed}: {why}")),
        });
    }
    report.note(format!(
        "{joined} sessions joined, {attempts} attempts to connect, at most {busiest} a minute"
    ));
    if job.count >= 100 && (joined < job.count / 10 || joined > job.count - job.count / 20) {
        report.violation(format!("{joined} of {} sessions were joined", job.count));
    }
    report
}

/// What a schedule consisted of.
struct Visit {
    is_joined: bool,
    attempts: usize,
    busiest: usize,
}

async fn schedule(seed: u64) -> Result<Visit, String> {
    let mut random = Random::new(seed);
    let id = SessionId::random();
    let (child, peer) = Child::channels([StreamId::STDOUT]);
    let session = SessionHandle::start(configuration(id), child);
    let is_http = random.below(3) == 0;
    let network = Arc::new(HostileNetwork::new(session, is_http, random.draw()));
    let url = if is_http {
        "http://127.0.0.1:1"
    } else {
        "shim:/in/memory"
    };
    let mut remote = Remote::new(url.parse().map_err(|error| format!("{error}"))?);
    remote.network = Arc::clone(&network) as Arc<dyn Network>;
    let attachment = Attachment {
        connect_timeout: CONNECT_TIMEOUT,
        ..Attachment::default()
    };
    let begin = Instant::now();
    let joined = TerminalEngine.attach_remote(&remote, id, attachment).await;
    let is_joined = joined.is_ok();
    match joined {
        Ok(session) => visit(&session, &network, &mut random).await?,
        Err(RemoteError::Link { detail, .. }) => {
            no_panic(&detail)?;
            failed_in_time(begin, &network).map_err(|why| format!("{why}: {detail}"))?;
        }
        Err(error) => return Err(format!("attaching failed: {error}")),
    }
    drop(peer);
    let attempts: Vec<_> = network.attempts().iter().map(|it| it.at).collect();
    let busiest = busiest_minute(&attempts);
    if busiest > MAX_ATTEMPTS {
        return Err(format!("{busiest} attempts in a minute"));
    }
    Ok(Visit {
        is_joined,
        attempts: attempts.len(),
        busiest,
    })
}

/// The timeout begins with the end of the first attempt, and the last attempt with the end of the timeout.
/// An attempt whose token is refused is repeated once, with a new token.
fn failed_in_time(begin: Instant, network: &HostileNetwork) -> Result<(), String> {
    let (took, attempts) = (begin.elapsed(), network.attempts());
    let is_repeated = attempts
        .iter()
        .rev()
        .nth(1)
        .is_some_and(|it| it.is_token_refused);
    let last = if is_repeated {
        2 * MAX_ATTEMPT
    } else {
        MAX_ATTEMPT
    };
    if took <= MAX_ATTEMPT + CONNECT_TIMEOUT + last {
        return Ok(());
    }
    let at: Vec<_> = attempts.iter().map(|attempt| attempt.at - begin).collect();
    Err(format!(
        "attaching failed after {took:?}, with attempts at {at:?}"
    ))
}

/// Uses a session until its link has failed or the visit is over, and leaves it.
async fn visit(
    session: &TerminalSession,
    network: &HostileNetwork,
    random: &mut Random,
) -> Result<(), String> {
    let connection = session.connection();
    let end = Instant::now() + VISIT;
    let mut output = session.reader(Stream::Output);
    let reading = tokio::spawn(async move { while output.next().await.is_some() {} });
    while Instant::now() < end && !reading.is_finished() {
        // Fails if the session has ended, or the queue is full.
        drop(session.write("a line\n".into()));
        sleep(Duration::from_millis(500)).await;
        let state = connection.borrow().clone();
        if let ConnectionState::Failed(failed) = &state {
            no_panic(&failed.detail)?;
            break;
        }
        let silence = network.last_byte().elapsed();
        if state.is_up() && !reading.is_finished() && silence > MAX_SILENCE {
            return Err(format!(
                "the link counts as up after {silence:?} of silence"
            ));
        }
    }
    let begin = Instant::now();
    let policy = TerminationPolicy::default();
    let longest = if random.below(2) == 0 {
        session.detach();
        MAX_DETACH
    } else {
        let grace = policy.eof_grace + policy.term_grace + policy.kill;
        let longest = grace + MAX_TERMINATION;
        let ended = timeout(longest, session.terminate(policy)).await;
        ended.map_err(|_| format!("the termination has no end after {longest:?}"))?;
        longest + MAX_DETACH
    };
    let ended = timeout(longest, reading).await;
    ended
        .map_err(|_| format!("the output has no end {:?} after the end", begin.elapsed()))?
        .map_err(|error| error.to_string())?;
    let state = connection.borrow().clone();
    match &state {
        ConnectionState::Failed(failed) => no_panic(&failed.detail),
        _ => Ok(()),
    }
}

/// Returns an error if the task of a connection ended before its session.
fn no_panic(detail: &str) -> Result<(), String> {
    if detail.contains("the task of the connection has ended") {
        return Err("the task of the connection panicked".to_owned());
    }
    Ok(())
}

fn busiest_minute(attempts: &[Instant]) -> usize {
    let since = |first: &Instant| {
        let later = attempts.iter().filter(|at| *at >= first);
        later.filter(|at| **at < *first + MINUTE).count()
    };
    attempts.iter().map(since).max().unwrap_or(0)
}

fn configuration(session: SessionId) -> MachineConfiguration {
    MachineConfiguration {
        session,
        epoch: Epoch::random(),
        facts: SessionFacts {
            kind: SessionKind::Dialogue,
            stdio: StdioKind::Pipes,
            pid: Some(1),
            size: None,
            containment: Containment::Group,
            state: SessionState::Running,
        },
        streams: vec![StreamConfiguration {
            id: StreamId::STDOUT,
            policy: OverflowPolicy::Block,
            ring_bytes: 32 << 10,
        }],
        has_screen: false,
        exit_retention: None,
    }
}
