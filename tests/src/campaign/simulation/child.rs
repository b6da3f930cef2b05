//! The simulated child: its output, and the input it received.

use std::sync::Arc;
use std::time::Duration;

use bowline_runner::wire::KillReport;
use bowline_runner::{ChildCommand, ChildEvent, ChildPeer};
use bowline_transport::{Containment, Drained, ExitStatus, Piece};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::client::Sent;
use crate::campaign::Random;

/// Number of chunks that it writes, and maximum length of a chunk.
const PIECES: u64 = 150;
const PIECE_BYTES: u64 = 4_000;

/// Its exit code.
pub(super) const STATUS: ExitStatus = ExitStatus::Code(7);

/// Returns the byte at an offset of its output.
pub(super) fn byte_at(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Handle of the child for the session.
#[derive(Debug)]
pub(super) struct Played {
    typed: Arc<Mutex<Vec<u8>>>,
    wrote_all: watch::Receiver<bool>,
    end: mpsc::UnboundedSender<()>,
    arrivals: watch::Sender<u64>,
}

impl Played {
    pub(super) fn begin(child: ChildPeer, mut random: Random) -> Self {
        let typed = Arc::new(Mutex::new(Vec::new()));
        let (wrote, wrote_all) = watch::channel(false);
        let (end, ended) = mpsc::unbounded_channel();
        let ChildPeer {
            outputs,
            events,
            commands,
        } = child;
        let obeying = obey(
            commands,
            events.clone(),
            Arc::clone(&typed),
            Random::new(random.draw()),
        );
        tokio::spawn(obeying);
        tokio::spawn(write(outputs, events, random, wrote, ended));
        Self {
            typed,
            wrote_all,
            end,
            arrivals: watch::Sender::new(0),
        }
    }

    /// Counter of the hosts that have connected to stay.
    pub(super) fn arrivals(&self) -> watch::Sender<u64> {
        self.arrivals.clone()
    }

    pub(super) async fn wrote_all(&self) {
        let _ = self.wrote_all.clone().wait_for(|all| *all).await;
    }

    pub(super) async fn end_when_all_are_there(&self, hosts: u64) {
        let _ = self
            .arrivals
            .subscribe()
            .wait_for(|here| *here >= hosts)
            .await;
        let _ = self.end.send(());
    }

    /// Compares the input received with the input sent; returns the number of lines.
    pub(super) fn check(&self, sent: &[Sent]) -> Result<u64, String> {
        let typed = self.typed.lock();
        let typed: Vec<&[u8]> = typed.split_inclusive(|byte| *byte == b'\n').collect();
        let mut last = std::collections::HashMap::new();
        for line in &typed {
            let Some(one) = sent.iter().find(|one| one.line == *line) else {
                return Err(format!(
                    "typed, and never sent so: {:?}",
                    line.escape_ascii()
                ));
            };
            if let Some(before) = last.insert(one.host, one.number)
                && before >= one.number
            {
                let (host, number) = (one.host, one.number);
                return Err(format!(
                    "host {host}: line {number} was typed after {before}"
                ));
            }
        }
        let is_typed = |one: &&Sent| typed.iter().any(|line| one.line == *line);
        match sent
            .iter()
            .filter(|one| one.is_confirmed)
            .find(|one| !is_typed(one))
        {
            None => Ok(typed.len() as u64),
            Some(lost) => Err(format!(
                "host {}: line {} was confirmed and not typed",
                lost.host, lost.number
            )),
        }
    }
}

async fn obey(
    mut commands: mpsc::UnboundedReceiver<ChildCommand>,
    events: mpsc::UnboundedSender<ChildEvent>,
    typed: Arc<Mutex<Vec<u8>>>,
    mut random: Random,
) {
    while let Some(order) = commands.recv().await {
        let answer = match order {
            ChildCommand::Write(bytes) => {
                sleep(Duration::from_millis(random.below(50))).await;
                typed.lock().extend_from_slice(&bytes);
                ChildEvent::Written(Ok(()))
            }
            ChildCommand::CloseInput => ChildEvent::Written(Ok(())),
            ChildCommand::Kill(_) => ChildEvent::Killed(KillReport {
                killed: Vec::new(),
                survivors: Vec::new(),
                level: Containment::Group,
                took: Duration::ZERO,
            }),
            ChildCommand::Resize(_) | ChildCommand::Signal(_) => continue,
        };
        let _ = events.send(answer);
    }
}

async fn write(
    outputs: Vec<(bowline_runner::wire::StreamId, mpsc::Sender<Piece>)>,
    events: mpsc::UnboundedSender<ChildEvent>,
    mut random: Random,
    wrote_all: watch::Sender<bool>,
    mut ended: mpsc::UnboundedReceiver<()>,
) {
    let Some((_, output)) = outputs.first() else {
        return;
    };
    let mut offset = 0;
    for _ in 0..PIECES {
        // Bursts and pauses.
        if random.below(3) == 0 {
            sleep(Duration::from_millis(random.below(2_000))).await;
        }
        let length = 1 + random.below(PIECE_BYTES);
        let bytes: Bytes = (offset..offset + length).map(byte_at).collect();
        if output.send(Piece::Bytes { offset, bytes }).await.is_err() {
            return;
        }
        offset += length;
    }
    wrote_all.send_replace(true);
    let _ = ended.recv().await;
    drop(outputs);
    let _ = events.send(ChildEvent::Exited {
        status: STATUS,
        oom: false,
        drained: Drained::Clean,
    });
}
