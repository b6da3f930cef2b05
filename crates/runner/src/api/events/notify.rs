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
    /// Takes the present states of the sessions. What is known is not repeated; a question that no longer waits is
    /// dropped.
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

    /// Takes for known what is no question: it was there before notifications were asked for.
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

/// Takes the present states; returns their tick.
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
mod tests {
    use bowline_reducer::Phase;
    use parking_lot::Mutex;
    use tokio::time::Instant;

    use super::*;

    /// A server with a script: what it answers, or `None` to hang.
    struct Server {
        script: Mutex<VecDeque<Option<Result<(), DeliveryError>>>>,
        posts: Mutex<Vec<String>>,
    }

    impl Post for &Server {
        async fn post(
            &self,
            headers: &[(&'static str, String)],
            _body: Bytes,
        ) -> Result<(), DeliveryError> {
            self.posts.lock().push(headers[0].1.clone());
            let next = self.script.lock().pop_front();
            match next {
                Some(Some(answer)) => answer,
                Some(None) => std::future::pending().await,
                None => Ok(()),
            }
        }
    }

    fn phase(attention: Option<Attention>) -> PhaseView {
        PhaseView {
            phase: Phase::Idle,
            reason: String::new(),
            attention,
        }
    }

    fn question(id: &str) -> PhaseView {
        let json = json!({"type": "control_request", "request_id": id,
            "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}});
        attention_of(&json.to_string())
    }

    fn finished(uuid: &str) -> PhaseView {
        let json = json!({"type": "result", "subtype": "success", "is_error": false, "result": "",
            "uuid": uuid, "session_id": "s"});
        attention_of(&json.to_string())
    }

    fn attention_of(line: &str) -> PhaseView {
        let mut transcript = bowline_reducer::Transcript::new();
        let mut framer = bowline_jsonl::Framer::default();
        framer.push(format!("{line}\n").into());
        while let Some(frame) = framer.next_frame() {
            frame
                .items()
                .for_each(|it| transcript.apply(&it, bowline_reducer::Meta { at_ms: 0 }));
        }
        PhaseView::of(&transcript)
    }

    fn notifier(server: &Server) -> Notifier<&Server> {
        Notifier {
            target: server,
            secret: None,
            configuration: NotifyConfiguration::new("http://localhost/"),
        }
    }

    fn notification(phase: PhaseView) -> Notification {
        Notification {
            session: SessionId::random(),
            attention: phase.attention.clone().unwrap(),
            phase,
            at_ms: 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn server_that_fails_and_hangs_is_tried_again() {
        let refused = || Some(Err(DeliveryError::Status(503)));
        let server = Server {
            script: Mutex::new([refused(), None, refused()].into()),
            posts: Mutex::default(),
        };
        let begin = Instant::now();
        notifier(&server)
            .deliver(&notification(finished("1")))
            .await;
        assert_eq!(server.posts.lock().len(), 4);
        let configuration = NotifyConfiguration::new("");
        let pauses: Duration = (1..=3).map(|it| backoff(configuration.backoff, it)).sum();
        assert_eq!(begin.elapsed(), pauses + configuration.timeout);
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_are_bounded() {
        let script = (0..100).map(|_| Some(Err(DeliveryError::Timeout)));
        let server = Server {
            script: Mutex::new(script.collect()),
            posts: Mutex::default(),
        };
        notifier(&server)
            .deliver(&notification(finished("1")))
            .await;
        let attempts = NotifyConfiguration::new("").attempts as usize;
        assert_eq!(server.posts.lock().len(), attempts);
        // One that the server refuses is not repeated.
        server.script.lock().clear();
        server
            .script
            .lock()
            .push_back(Some(Err(DeliveryError::Status(400))));
        notifier(&server)
            .deliver(&notification(finished("1")))
            .await;
        assert_eq!(server.posts.lock().len(), attempts + 1);
    }

    #[test]
    fn notification_waits_once_and_question_only_while_it_is_open() {
        let mut waiting = Waiting::default();
        let (one, other) = (SessionId::random(), SessionId::random());
        let ids = |waiting: &Waiting| -> Vec<String> {
            let ids = waiting.queue.iter();
            ids.map(|it| it.attention.id.clone()).collect()
        };
        for _ in 0..2 {
            waiting.update(vec![(one, question("r")), (other, finished("1"))], 0);
        }
        assert_eq!(ids(&waiting), ["question:r", "turn:0"]);
        waiting.update(vec![(one, phase(None)), (other, phase(None))], 0);
        assert_eq!(
            ids(&waiting),
            ["turn:0"],
            "the end of a turn is still to be sent"
        );
        let sent = waiting.queue.pop_front().unwrap();
        waiting.known.add(sent.id());
        waiting.update(vec![(other, finished("1"))], 0);
        assert_eq!(ids(&waiting), Vec::<String>::new());
    }

    #[test]
    fn known_notifications_are_bounded_and_survive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        assert!(Known::read(&path).unwrap().is_none());
        let mut known = Known::default();
        for n in 0..=MAX_KNOWN {
            assert!(known.add(n.to_string()));
        }
        assert!(!known.add("1".to_owned()));
        std::fs::write(&path, known.text()).unwrap();
        let known = Known::read(&path).unwrap().unwrap();
        assert_eq!(known.order.len(), MAX_KNOWN);
        assert!(!known.ids.contains("0") && known.ids.contains("1"));
    }

    #[test]
    fn signature_covers_time_and_body() {
        let server = Server {
            script: Mutex::default(),
            posts: Mutex::default(),
        };
        let mut notifier = notifier(&server);
        assert_eq!(
            notifier.headers("i", b"{}", 5),
            [("bowline-event-id", "i".to_owned())]
        );
        notifier.secret = Some("key".to_owned());
        let signature = |body: &[u8], seconds| notifier.headers("i", body, seconds)[1].1.clone();
        let first = signature(b"{}", 5);
        assert!(
            first.starts_with("t=5,v1=") && first.len() == 7 + 64,
            "{first}"
        );
        assert_ne!(first, signature(b"{} ", 5));
        let other = signature(b"{}", 6);
        assert_ne!(first.get(7..), other.get(7..));
    }
}
