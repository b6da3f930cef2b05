//! Posts what needs attention to a webhook. A webhook that fails or hangs delays nothing but later notifications.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline_hooks::{DeliveryError, Webhook};
use bowline_lifecycle::{Attention, AttentionReason};
use bowline_transport::SessionId;
use bytes::Bytes;
use serde_json::json;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::hub::EventHub;
use super::item::PhaseView;
use crate::auth::{TokenError, hmac_sha256, read_or_create_token};

/// Maximum number of notifications that wait; beyond it, the oldest is dropped.
const MAX_WAITING: usize = 256;

/// Upper limit of the pause between two attempts.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// Number of notifications that are remembered, so that none is repeated.
const MAX_KNOWN: usize = 4096;

/// Name of the file in the state folder with the ids of the last notifications.
const FILE: &str = "notified";

/// Where to post what needs attention, and how often to try. See [`Runner::notify`](crate::Runner::notify).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NotifyConfiguration {
    /// The URL: `https`, or `http` on loopback.
    pub url: String,
    /// The file with the secret that signs notifications, created with a new one if it does not exist. Default: none.
    pub secret_file: Option<PathBuf>,
    /// A PEM file with certificate authorities to trust beside those of the web. Default: none.
    pub authorities: Option<PathBuf>,
    /// Time limit of an attempt. Default: 10 s.
    pub timeout: Duration,
    /// Maximum number of attempts. Default: 8.
    pub attempts: u32,
    /// Pause after the first attempt, which doubles with each one, up to 60 s. Default: 1 s.
    pub backoff: Duration,
}

impl NotifyConfiguration {
    /// Returns the defaults for a URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            secret_file: None,
            authorities: None,
            timeout: Duration::from_secs(10),
            attempts: 8,
            backoff: Duration::from_secs(1),
        }
    }
}

/// A notification: an attention of a session.
#[derive(Clone, Debug, PartialEq)]
struct Notification {
    session: SessionId,
    phase: PhaseView,
    attention: Attention,
    at_ms: u64,
}

impl Notification {
    /// Its id, which no other notification has.
    fn id(&self) -> String {
        format!("{}:{}", self.session, self.attention.id)
    }

    fn body(&self) -> Bytes {
        let Self {
            session,
            phase,
            attention,
            at_ms,
        } = self;
        let body = json!({
            "id": self.id(), "session": session.to_string(), "at_ms": at_ms,
            "phase": phase.phase, "reason": phase.reason, "attention": attention,
        });
        body.to_string().into()
    }

    const fn is_question(&self) -> bool {
        matches!(self.attention.reason, AttentionReason::Question { .. })
    }
}

/// Posts notifications.
trait Post: Send + Sync {
    fn post(
        &self,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> impl Future<Output = Result<(), DeliveryError>> + Send;
}

impl Post for Webhook {
    async fn post(
        &self,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> Result<(), DeliveryError> {
        Self::post(self, headers, body).await
    }
}

/// The ids of notifications that were begun, oldest first.
#[derive(Debug, Default)]
struct Known {
    order: VecDeque<String>,
    ids: HashSet<String>,
}

impl Known {
    /// Adds an id; returns whether it is new.
    fn add(&mut self, id: String) -> bool {
        let is_new = self.ids.insert(id.clone());
        if is_new {
            self.order.push_back(id);
        }
        if self.order.len() > MAX_KNOWN
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        is_new
    }

    /// Reads the file; `None` if there is none.
    fn read(path: &Path) -> std::io::Result<Option<Self>> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let mut known = Self::default();
        for line in text.lines() {
            known.add(line.to_owned());
        }
        Ok(Some(known))
    }

    fn text(&self) -> String {
        self.order.iter().map(|id| format!("{id}\n")).collect()
    }
}

/// The notifications that wait for their delivery.
#[derive(Debug, Default)]
struct Waiting {
    queue: VecDeque<Notification>,
    /// What of each session needs attention at present.
    present: HashMap<SessionId, Attention>,
    known: Known,
}

impl Waiting {
    /// Updates the states of the sessions. What is known is not repeated; a question that no longer waits is dropped.
    fn update(&mut self, states: Vec<(SessionId, PhaseView)>, at_ms: u64) {
        let present = states.iter();
        let present = present.filter_map(|(id, phase)| Some((*id, phase.attention.clone()?)));
        self.present = present.collect();
        let queue = std::mem::take(&mut self.queue);
        self.queue = queue.into_iter().filter(|it| self.is_new(it)).collect();
        for (session, phase) in states {
            let Some(attention) = phase.attention.clone() else {
                continue;
            };
            let notification = Notification {
                session,
                phase,
                attention,
                at_ms,
            };
            let id = notification.id();
            let is_waiting = self.queue.iter().any(|it| it.id() == id);
            if !is_waiting && !self.known.ids.contains(&id) {
                self.queue.push_back(notification);
            }
        }
        while self.queue.len() > MAX_WAITING
            && let Some(dropped) = self.queue.pop_front()
        {
            warn!(
                id = dropped.id(),
                "too many notifications wait; one is dropped"
            );
            self.known.add(dropped.id());
        }
    }

    /// Returns whether a notification is of interest: a question only while it waits.
    fn is_new(&self, it: &Notification) -> bool {
        !it.is_question() || self.present.get(&it.session) == Some(&it.attention)
    }

    /// Marks everything but questions as known, since it preceded the request for notifications.
    fn ignore_present(&mut self) {
        let (questions, others): (Vec<_>, Vec<_>) =
            self.queue.drain(..).partition(Notification::is_question);
        self.queue = questions.into();
        for other in others {
            self.known.add(other.id());
        }
    }
}

/// Signs and delivers notifications.
struct Notifier<P> {
    target: P,
    secret: Option<String>,
    configuration: NotifyConfiguration,
}

impl<P: Post> Notifier<P> {
    /// Delivers a notification, or gives it up after the last attempt.
    async fn deliver(&self, notification: &Notification) {
        let (id, body) = (notification.id(), notification.body());
        for attempt in 1..=self.configuration.attempts.max(1) {
            let headers = self.headers(&id, &body, now_ms() / 1000);
            let posted = self.target.post(&headers, body.clone());
            let posted = timeout(self.configuration.timeout, posted).await;
            let error = match posted.unwrap_or(Err(DeliveryError::Timeout)) {
                Ok(()) => return,
                Err(error) => error,
            };
            if !error.is_transient() {
                return warn!(id, %error, "a notification was refused");
            }
            debug!(id, attempt, %error, "a notification was not delivered");
            sleep(backoff(self.configuration.backoff, attempt)).await;
        }
        warn!(id, "a notification was given up; check the webhook");
    }

    fn headers(&self, id: &str, body: &[u8], seconds: u64) -> Vec<(&'static str, String)> {
        let mut headers = vec![("bowline-event-id", id.to_owned())];
        if let Some(secret) = &self.secret {
            let signed = [format!("{seconds}.").as_bytes(), body].concat();
            let signature = hmac_sha256(secret.as_bytes(), &signed);
            let hex: String = signature.iter().map(|it| format!("{it:02x}")).collect();
            headers.push(("bowline-signature", format!("t={seconds},v1={hex}")));
        }
        headers
    }
}

fn backoff(first: Duration, attempt: u32) -> Duration {
    let factor = 1_u32.checked_shl(attempt - 1).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(MAX_BACKOFF)
}

/// Why notifications cannot be posted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotifyError {
    /// The URL is unusable.
    #[error(transparent)]
    Webhook(#[from] bowline_hooks::WebhookError),
    /// The file with the secret is unusable.
    #[error(transparent)]
    Secret(#[from] TokenError),
}

/// Posts what needs attention from now on, until the shutdown.
pub(crate) fn start(
    hub: &Arc<EventHub>,
    configuration: NotifyConfiguration,
) -> Result<(), NotifyError> {
    let authorities = configuration.authorities.as_deref();
    let target = Webhook::new(&configuration.url, authorities)?;
    let secret = configuration.secret_file.as_deref();
    let secret = secret.map(read_or_create_token).transpose()?;
    let notifier = Notifier {
        target,
        secret,
        configuration,
    };
    let hub = Arc::clone(hub);
    tokio::spawn(async move {
        tokio::select! {
            () = run(&hub, notifier) => {}
            () = hub.app.shutdown.cancelled() => {}
        }
    });
    Ok(())
}

async fn run(hub: &Arc<EventHub>, notifier: Notifier<impl Post>) {
    hub.start().await;
    let file = hub.app.sessions.state_path().join(FILE);
    let known = read(file.clone()).await;
    let is_first = known.is_none();
    let mut waiting = Waiting {
        known: known.unwrap_or_default(),
        ..Waiting::default()
    };
    let mut seen = update(hub, &mut waiting);
    if is_first {
        waiting.ignore_present();
        write(&file, &waiting.known).await;
    }
    loop {
        let Some(next) = waiting.queue.pop_front() else {
            hub.published_after(seen).await;
            seen = update(hub, &mut waiting);
            continue;
        };
        // Before the first attempt: the next run of the daemon repeats nothing that the server may have accepted.
        waiting.known.add(next.id());
        write(&file, &waiting.known).await;
        let mut delivery = std::pin::pin!(notifier.deliver(&next));
        while waiting.is_new(&next) {
            tokio::select! {
                () = delivery.as_mut() => break,
                () = hub.published_after(seen) => seen = update(hub, &mut waiting),
            }
        }
    }
}

/// Updates the states; returns their tick.
fn update(hub: &EventHub, waiting: &mut Waiting) -> u64 {
    let (tick, states) = hub.states();
    let phases = states.into_iter().map(|(id, state)| (id, state.phase));
    waiting.update(phases.collect(), now_ms());
    tick
}

async fn read(path: PathBuf) -> Option<Known> {
    let read = spawn_blocking(move || Known::read(&path)).await;
    match read.map_err(std::io::Error::other) {
        Ok(Ok(known)) => known,
        Ok(Err(error)) | Err(error) => {
            warn!(%error, "cannot read which notifications were posted");
            None
        }
    }
}

/// Replaces the file, which is small: a notification costs more than that.
async fn write(path: &Path, known: &Known) {
    let (text, path) = (known.text(), path.to_owned());
    let written = spawn_blocking(move || {
        let next = path.with_extension("next");
        std::fs::write(&next, text)?;
        std::fs::rename(&next, &path)
    });
    if let Ok(Err(error)) = written.await {
        warn!(%error, "cannot write which notifications were posted");
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |it| it.as_millis() as u64)
}

#[cfg(test)]
mod tests;
