//! Notifications under virtual time, and what is kept of them.

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
