//! A host that reads, verifies and types, is killed or detaches now and then, and resumes from its
//! saved state.

use std::sync::Arc;
use std::time::Duration;

use bowline_runner::wire::Lease;
use bowline_transport::{
    Attachment, LogLimits, Piece, Remote, RemoteUrl, SessionId, StartPosition, Stream,
    TerminalEngine, TerminalSession,
};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::child::{STATUS, byte_at};
use super::network::{Conditions, HostNetwork};
use super::{Phase, Sums};
use crate::campaign::Random;

/// Number of lines that a host types between two restarts.
const LINES: u64 = 30;

/// Role of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Holds the write lease throughout, and never detaches.
    Owner,
    /// Takes the write lease from another host, is killed, and returns.
    Rival,
    /// Reads, is killed, and returns.
    Reader,
}

/// A line that was submitted as input.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) host: u64,
    pub(super) number: u64,
    pub(super) line: Vec<u8>,
    pub(super) is_confirmed: bool,
}

/// Observations of a host.
#[derive(Debug, Default)]
pub(super) struct HostRecord {
    pub(super) sums: Sums,
    pub(super) sent: Vec<Sent>,
}

#[derive(Debug)]
pub(super) struct Client {
    number: u64,
    role: Role,
    session: SessionId,
    conditions: Arc<Conditions>,
    random: Random,
    /// Next expected offset, unknown before the first byte of a host that attached late.
    at: Option<u64>,
    next_line: u64,
    record: HostRecord,
}

/// Why a run of the host ended.
enum End {
    /// The session ended.
    Natural,
    /// The planned time has passed.
    Gone,
}

impl Client {
    pub(super) fn new(
        number: u64,
        role: Role,
        session: SessionId,
        conditions: &Arc<Conditions>,
        mut random: Random,
    ) -> Self {
        let is_late = role == Role::Reader && random.below(3) == 0;
        Self {
            number,
            role,
            session,
            conditions: Arc::clone(conditions),
            random,
            at: (!is_late).then_some(0),
            next_line: 0,
            record: HostRecord::default(),
        }
    }

    /// Restarts the host until it receives the end of the session.
    pub(super) async fn live(
        mut self,
        mut phase: watch::Receiver<Phase>,
        arrivals: watch::Sender<u64>,
    ) -> Result<HostRecord, String> {
        let (number, role) = (self.number, self.role);
        let name = |why: String| format!("host {number} ({role:?}): {why}");
        if self.role == Role::Reader {
            sleep(Duration::from_millis(self.random.below(3_000))).await;
        }
        let mut has_arrived = false;
        loop {
            let network = Arc::new(HostNetwork::new(&self.conditions));
            // A run that starts in the calm phase is the last.
            let is_last = *phase.borrow_and_update() == Phase::Calm;
            let lease = self.lease(is_last);
            let session = match self.attach(&network, lease).await {
                Ok(session) => session,
                Err(_) if !is_last => continue,
                Err(why) => return Err(name(format!("cannot come back: {why}"))),
            };
            self.record.sums.lives += 1;
            if is_last && !has_arrived {
                has_arrived = true;
                arrivals.send_modify(|here| *here += 1);
            }
            let stays = self.role == Role::Owner;
            let arrive = (stays && !has_arrived).then(|| arrivals.clone());
            has_arrived |= stays;
            let end = self
                .one_life(&session, lease, &mut phase, is_last || stays, arrive)
                .await;
            match end.map_err(name)? {
                End::Natural => return Ok(self.record),
                End::Gone if self.random.below(2) == 0 => network.kill(),
                End::Gone => {}
            }
            drop(session);
            sleep(Duration::from_millis(self.random.below(5_000))).await;
        }
    }

    /// Rivals stop taking the lease in the end, so that each of them receives the end.
    fn lease(&self, is_last: bool) -> Lease {
        match self.role {
            Role::Owner => Lease::Write,
            Role::Rival if !is_last => Lease::Write,
            _ => Lease::Read,
        }
    }

    async fn attach(
        &self,
        network: &Arc<HostNetwork>,
        lease: Lease,
    ) -> Result<TerminalSession, String> {
        let mut remote = Remote::new(RemoteUrl::Shim("/none".into()));
        remote.network = Arc::clone(network) as _;
        remote.reconnect_timeout = Duration::from_secs(3_600);
        let attachment = Attachment {
            lease,
            start: match self.at {
                Some(output) => StartPosition::At {
                    output,
                    errors: 0,
                    input: 0,
                },
                None => StartPosition::Now,
            },
            limits: LogLimits {
                output_bytes: 16 << 10,
                ..LogLimits::default()
            },
            connect_timeout: Duration::from_secs(600),
            ..Attachment::default()
        };
        let joined = TerminalEngine
            .attach_remote(&remote, self.session, attachment)
            .await;
        joined.map_err(|error| error.to_string())
    }

    async fn one_life(
        &mut self,
        session: &TerminalSession,
        lease: Lease,
        phase: &mut watch::Receiver<Phase>,
        stays: bool,
        arrive: Option<watch::Sender<u64>>,
    ) -> Result<End, String> {
        let mut output = session.reader(Stream::Output);
        let dies = Instant::now() + Duration::from_millis(self.random.below(20_000));
        let sent = Mutex::new(Vec::new());
        let random = Random::new(self.random.draw());
        let mut typing =
            std::pin::pin!(typing(session, self.number, self.next_line, random, &sent));
        let mut types = lease == Lease::Write;
        let mut arrive = arrive;
        let end = loop {
            tokio::select! {
                piece = output.next() => match piece {
                    Some(piece) => self.look(piece)?,
                    None => break End::Natural,
                },
                () = &mut typing, if types => types = false,
                () = sleep_until(dies), if !stays => break End::Gone,
                // A host that runs into the calm phase restarts once more, and stays.
                _ = phase.wait_for(|phase| *phase == Phase::Calm), if !stays || arrive.is_some() => {
                    match arrive.take() {
                        Some(arrive) => arrive.send_modify(|here| *here += 1),
                        None => break End::Gone,
                    }
                }
            }
        };
        // Input in transit when the host was killed was sent, with unknown outcome.
        let sent = std::mem::take(&mut *sent.lock());
        self.next_line += sent.len() as u64;
        self.record.sent.extend(sent);
        if matches!(end, End::Natural) {
            self.look_at_the_end(session).await?;
        }
        Ok(end)
    }

    fn look(&mut self, piece: Piece) -> Result<(), String> {
        match piece {
            Piece::Bytes { offset, bytes } => {
                let at = *self.at.get_or_insert(offset);
                if offset != at {
                    return Err(format!("bytes of {offset} where {at} is next"));
                }
                let is_true = (offset..)
                    .zip(&bytes)
                    .all(|(at, byte)| byte_at(at) == *byte);
                if !is_true {
                    return Err(format!("other bytes at {offset}"));
                }
                self.at = Some(at + bytes.len() as u64);
                self.record.sums.bytes += bytes.len() as u64;
            }
            Piece::Gap { from, to } => {
                let at = *self.at.get_or_insert(from);
                if from != at || to <= from {
                    return Err(format!("a gap {from}..{to} where {at} is next"));
                }
                // Output from before the attach is missing for this host, too.
                if self.role == Role::Owner && self.record.sums.bytes > 0 {
                    return Err(format!("a gap {from}..{to} for the one that never left"));
                }
                self.at = Some(to);
                self.record.sums.gaps += 1;
            }
        }
        Ok(())
    }

    async fn look_at_the_end(&self, session: &TerminalSession) -> Result<(), String> {
        let exit = session.exited().await;
        if exit.status != STATUS {
            return Err(format!("it ended otherwise: {exit:?}"));
        }
        match self.at {
            Some(at) if at != exit.output_end => Err(format!(
                "the end is at {}, and {at} was read",
                exit.output_end
            )),
            _ => Ok(()),
        }
    }
}

/// Types lines until all are sent, the host is fenced, or the session ends. Each line is recorded
/// before it is sent.
async fn typing(
    session: &TerminalSession,
    host: u64,
    first: u64,
    mut random: Random,
    sent: &Mutex<Vec<Sent>>,
) {
    for number in first..first + LINES {
        sleep(Duration::from_millis(random.below(1_500))).await;
        let length = random.below(1_200) as usize;
        let line = format!("{host} {number} {}\n", "x".repeat(length)).into_bytes();
        let one = Sent {
            host,
            number,
            line: line.clone(),
            is_confirmed: false,
        };
        sent.lock().push(one);
        if session.write(line.into()).await.is_err() {
            return;
        }
        if let Some(last) = sent.lock().last_mut() {
            last.is_confirmed = true;
        }
    }
}
