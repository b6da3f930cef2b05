//! What the servers report of themselves: whether they sync what they store at once, and their clocks.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::connect::Connection;
use super::setup::REPLICAS;
use crate::bus::SERVERS_SUBJECT;
use crate::replies::{ServerState, server_state};

/// The subject on which each server reports its JetStream settings to the system account.
pub(crate) const SERVER_STATE: &str = "$SYS.REQ.SERVER.PING.JSZ";

/// Time without a further reply after which all have come.
const LAST_REPLY_AFTER: Duration = Duration::from_secs(1);

/// Interval between two requests for what the servers report.
const ASK_EVERY: Duration = Duration::from_secs(60);

impl Connection {
    /// Returns what all servers report; none if the account may not ask them. That of `bowline fleet init` may.
    pub async fn servers(&self) -> Vec<ServerState> {
        self.servers_by(SERVERS_SUBJECT).await
    }

    /// Returns what all servers report to their system account; none if the account is another one.
    pub async fn servers_as_system(&self) -> Vec<ServerState> {
        self.servers_by(SERVER_STATE).await
    }

    async fn servers_by(&self, subject: &'static str) -> Vec<ServerState> {
        let inbox = self.client.new_inbox();
        let Ok(mut replies) = self.client.subscribe(inbox.clone()).await else {
            return Vec::new();
        };
        let asked = SystemTime::now();
        let sent = self.client.publish_with_reply(subject, inbox, Bytes::new());
        if sent.await.is_err() {
            return Vec::new();
        }
        let mut states = Vec::new();
        while let Ok(Some(reply)) = timeout(LAST_REPLY_AFTER, replies.next()).await {
            // Nothing listens there.
            if reply.status.is_some() {
                break;
            }
            states.extend(server_state(&reply.payload, asked, SystemTime::now()));
        }
        states.sort_by(|a, b| a.name.cmp(&b.name));
        states
    }

    /// Returns whether what is acknowledged outlives a power failure of all servers: the stream has three replicas, and
    /// as many servers at least say that they sync each message. Without an answer, it does not.
    pub async fn is_durable(&self) -> bool {
        let replicas = self.layout().await.map_or(0, |it| it.replicas);
        if replicas < REPLICAS {
            return false;
        }
        let servers = self.servers().await;
        servers.len() >= replicas && servers.iter().all(|it| it.is_sync_always)
    }

    /// Keeps a value at what [`is_durable`](Self::is_durable) returns: after each connect, and once a minute. Never
    /// returns.
    pub async fn keep_durability(&self, known: &watch::Sender<bool>) {
        let mut connects = self.reports.connects();
        loop {
            connects.mark_unchanged();
            known.send_replace(self.is_durable().await);
            tokio::select! {
                _ = connects.changed() => {}
                () = sleep(ASK_EVERY) => {}
            }
        }
    }
}
