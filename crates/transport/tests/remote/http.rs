//! Runners over HTTP: authentication, refusals, and complete streams.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use bowline_transport::wire::{SessionKind, StdioKind};
use bowline_transport::{
    Attachment, Boxed, Configuration, ConnectionState, CredentialsProvider, NoToken,
    ReconnectFailed, ReconnectFailure, Remote, RemoteError, SessionRequest, Stream, SystemNetwork,
    TerminalEngine, TerminalSession, Token, Trust,
};
use bytes::Bytes;
use hyper::StatusCode;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::{cipher_suite, default_provider};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::http_server::{HttpServer, Loss, Tls};
use crate::network::Chaos;
use crate::owner::Owner;
use crate::support::{read, soon, state};

/// Provides the newest token and counts the calls after a refusal.
#[derive(Clone, Debug)]
struct Rotating {
    token: Arc<Mutex<&'static str>>,
    refusals: Arc<AtomicUsize>,
    /// The next token after a refusal.
    next: &'static str,
}

impl Rotating {
    fn new(token: &'static str, next: &'static str) -> Self {
        Self {
            token: Arc::new(Mutex::new(token)),
            refusals: Arc::default(),
            next,
        }
    }
}

impl CredentialsProvider for Rotating {
    fn token<'a>(
        &'a self,
        refused: Option<&'a Token>,
    ) -> Boxed<'a, Result<Option<Token>, NoToken>> {
        let mut token = self.token.lock().expect("alone");
        if let Some(refused) = refused {
            assert_eq!(*refused, Token::new(*token));
            self.refusals.fetch_add(1, Relaxed);
            *token = self.next;
        }
        Box::pin(std::future::ready(Ok(Some(Token::new(*token)))))
    }
}

struct Rig {
    owner: Owner,
    server: Arc<HttpServer>,
    network: Arc<Chaos>,
    remote: Remote,
}

fn rig(url: &str, reach: usize, server: HttpServer) -> Rig {
    let owner = Owner::new(StdioKind::Pipes);
    let server = Arc::new(server);
    let mut network = Chaos::new(owner.clone(), 99, reach);
    network.server = Some(Arc::clone(&server));
    let network = Arc::new(network);
    let mut remote = Remote::new(url.parse().expect("a URL"));
    remote.network = Arc::clone(&network) as _;
    Rig {
        owner,
        server,
        network,
        remote,
    }
}

fn order() -> SessionRequest {
    SessionRequest::new(SessionKind::Dialogue, Configuration::new("claude"))
}

async fn make(rig: &Rig) -> Result<TerminalSession, RemoteError> {
    soon(
        "a session",
        TerminalEngine.make_remote(&rig.remote, &order()),
    )
    .await
}

fn has_failed(state: &ConnectionState) -> bool {
    matches!(state, ConnectionState::Failed(_))
}

#[tokio::test(start_paused = true)]
async fn session_works_over_bad_network() {
    let rig = rig("unix:/none", 6_000, HttpServer::default());
    let session = make(&rig).await.unwrap();
    assert_eq!(session.id(), rig.owner.session);
    assert_eq!(rig.server.orders.lock().unwrap()[0]["program"], "claude");
    let mut output = session.reader(Stream::Output);
    let sent: Vec<Bytes> = (0..100)
        .map(|it| format!("{it} {}\n", "z".repeat(it * 7 % 500)).into())
        .collect();
    let length = sent.iter().map(Bytes::len).sum();
    let writing = async {
        for bytes in &sent {
            soon("write", session.write(bytes.clone())).await.unwrap();
        }
    };
    let (requests, ()) = tokio::join!(read(&mut output, length), writing);
    assert!(requests == sent.concat());
    rig.owner.with(|state| assert!(state.typed == requests));
    assert!(
        rig.network.connections.load(Relaxed) > 10,
        "it was never cut"
    );
}

/// Creates a session at a server with these losses, and checks that the server made one.
async fn created_once(losses: &[Loss]) -> (Rig, TerminalSession) {
    let server = HttpServer {
        losses: Mutex::new(losses.to_vec().into()),
        ..HttpServer::default()
    };
    let rig = rig("unix:/none", 0, server);
    let order = SessionRequest {
        id: Some(rig.owner.session),
        ..order()
    };
    let making = TerminalEngine.make_remote(&rig.remote, &order);
    let session = soon("a session", making).await.expect("a session");
    assert_eq!(session.id(), rig.owner.session);
    assert_eq!(rig.server.orders.lock().expect("orders").len(), 1);
    (rig, session)
}

#[tokio::test(start_paused = true)]
async fn request_in_progress_is_waited_for() {
    // The runner was killed while it created the session, which the next one has not removed yet.
    created_once(&[Loss::Order, Loss::InProgress, Loss::InProgress]).await;
}

#[tokio::test(start_paused = true)]
async fn session_is_created_once_despite_lost_responses() {
    let losses = [Loss::Order, Loss::Answer, Loss::Order, Loss::Answer];
    let (rig, session) = created_once(&losses).await;
    let requests = rig.server.requests.lock().unwrap().clone();
    let posts = requests.iter().filter(|it| it.starts_with("POST"));
    assert_eq!(posts.count(), losses.len() + 1);
    session.write("here I am\n".into()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn session_that_cannot_be_attached_to_or_ended_is_named() {
    // Refused at once, and until the attempts to end the session are given up.
    for status in [StatusCode::FORBIDDEN, StatusCode::SERVICE_UNAVAILABLE] {
        let rig = rig("unix:/none", 0, HttpServer::default());
        *rig.server.answer_once_created.lock().unwrap() = Some(status);
        let order = SessionRequest {
            id: Some(rig.owner.session),
            ..order()
        };
        let making = TerminalEngine.make_remote(&rig.remote, &order);
        let error = making.await.unwrap_err();
        let RemoteError::LeftRunning { id, source } = &error else {
            panic!("{error}");
        };
        assert_eq!(*id, rig.owner.session);
        assert!(matches!(**source, RemoteError::Link { .. }), "{source}");
        assert!(error.to_string().contains(&id.to_string()), "{error}");
        let requests = rig.server.requests.lock().unwrap().clone();
        assert!(
            requests.iter().any(|it| it.starts_with("DELETE")),
            "{requests:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn existing_id_is_refused() {
    let rig = rig("unix:/none", 0, HttpServer::default());
    let order = SessionRequest {
        id: Some(rig.owner.session),
        ..order()
    };
    let making = || TerminalEngine.make_remote(&rig.remote, &order);
    soon("a session", making()).await.unwrap();
    let refused = soon("a refusal", making()).await.unwrap_err();
    assert!(
        matches!(&refused, RemoteError::Refused { code, .. } if code == "SESSION_EXISTS"),
        "{refused}"
    );
}

#[tokio::test(start_paused = true)]
async fn long_writes_use_bounded_messages() {
    let rig = rig("unix:/none", 0, HttpServer::default());
    let session = make(&rig).await.unwrap();
    let mut output = session.reader(Stream::Output);
    let long = Bytes::from(vec![b'l'; 5 << 20]);
    let write = session.write(long.clone());
    let (requests, written) = tokio::join!(read(&mut output, long.len()), soon("write", write));
    written.unwrap();
    assert!(requests == long);
}

#[tokio::test(start_paused = true)]
async fn token_is_sent_only_in_authorization_header() {
    let server = HttpServer {
        token: Mutex::new(Some("hunter2")),
        ..HttpServer::default()
    };
    let mut rig = rig("http://127.0.0.1:1", 0, server);
    rig.remote = rig.remote.with_credentials(Token::new("hunter2"));
    let session = make(&rig).await.unwrap();
    let id = session.id();
    let requests = rig.server.requests.lock().unwrap().clone();
    assert_eq!(
        requests,
        [
            "POST /api/sessions Bearer hunter2".to_owned(),
            format!("GET /api/sessions/{id}/attach Bearer hunter2"),
        ]
    );
    // The network of this test knows the token, too.
    rig.remote.network = Arc::new(SystemNetwork);
    let shown = format!("{:?} {session:?}", rig.remote);
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn rotated_token_reconnects() {
    let server = HttpServer {
        token: Mutex::new(Some("one")),
        ..HttpServer::default()
    };
    let mut rig = rig("http://localhost:1", 0, server);
    let tokens = Rotating::new("one", "two");
    rig.remote = rig.remote.with_credentials(tokens.clone());
    let session = make(&rig).await.unwrap();
    *rig.server.token.lock().unwrap() = Some("two");
    rig.owner.hang_up();
    let up = state(&session, "up", |it| {
        matches!(it, ConnectionState::Reconnected { .. })
    })
    .await;
    assert!(up.is_up());
    assert_eq!(tokens.refusals.load(Relaxed), 1);
    session.write("still me\n".into()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn refused_token_fails_and_can_be_retried() {
    let server = HttpServer {
        token: Mutex::new(Some("one")),
        ..HttpServer::default()
    };
    let mut rig = rig("http://localhost:1", 0, server);
    let tokens = Rotating::new("one", "wrong");
    rig.remote = rig.remote.with_credentials(tokens.clone());
    let session = make(&rig).await.unwrap();
    *rig.server.token.lock().unwrap() = Some("three");
    rig.owner.hang_up();
    let failed = state(&session, "failed", has_failed).await;
    let auth = ReconnectFailure::Auth;
    assert!(
        matches!(failed, ConnectionState::Failed(ReconnectFailed { failure, .. }) if failure == auth)
    );
    *rig.server.token.lock().unwrap() = Some("wrong");
    session.retry().unwrap();
    state(&session, "up", ConnectionState::is_up).await;
    session.write("back\n".into()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn refusal_statuses_map_to_failures() {
    for (status, failure) in [
        (StatusCode::UNAUTHORIZED, ReconnectFailure::Auth),
        (StatusCode::FORBIDDEN, ReconnectFailure::Auth),
        (StatusCode::NOT_FOUND, ReconnectFailure::Gone),
        (StatusCode::GONE, ReconnectFailure::Expired),
        (StatusCode::UPGRADE_REQUIRED, ReconnectFailure::Version),
        (StatusCode::SERVICE_UNAVAILABLE, ReconnectFailure::Lost),
    ] {
        let rig = rig("unix:/none", 0, HttpServer::default());
        *rig.server.answer.lock().unwrap() = Some(status);
        let attachment = Attachment::default();
        let joined = TerminalEngine.attach_remote(&rig.remote, rig.owner.session, attachment);
        let refused = soon("refusal", joined).await;
        assert!(
            matches!(&refused, Err(RemoteError::Link { failure: it, .. }) if *it == failure),
            "{status}: {refused:?}"
        );
        let made = make(&rig).await;
        match made {
            Err(RemoteError::Link { failure: it, .. }) => assert_eq!(it, ReconnectFailure::Auth),
            Err(RemoteError::Refused {
                status: it, code, ..
            }) => {
                assert_eq!((it, code.as_str()), (status.as_u16(), "NO"));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Attaches to a server that answers with these parts, and returns the failure.
async fn refusal(url: &str, parts: &[&'static [u8]]) -> (ReconnectFailure, String) {
    let rig = rig(url, 0, HttpServer::default());
    let parts = parts.iter().map(|part| Bytes::from_static(part)).collect();
    *rig.server.raw.lock().expect("alone") = Some(parts);
    let joined =
        TerminalEngine.attach_remote(&rig.remote, rig.owner.session, Attachment::default());
    match soon("refusal", joined).await {
        Err(RemoteError::Link { failure, detail }) => (failure, detail),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn late_body_of_refusal_is_read() {
    let head = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 23\r\n\r\n";
    let parts: [&[u8]; 3] = [head, b"{\"code\":\"HOST_", b"REFUSED\"}"];
    let (failure, detail) = refusal("http://127.0.0.1:1", &parts).await;
    assert_eq!(failure, ReconnectFailure::Misconfigured);
    assert!(detail.contains("--host 127.0.0.1:1"), "{detail}");
    // Without its body, the status decides.
    let (failure, detail) = refusal("http://127.0.0.1:1", &parts[..2]).await;
    assert_eq!(failure, ReconnectFailure::Auth);
    assert!(
        detail.contains("403 Forbidden; check the token"),
        "{detail}"
    );
}

#[tokio::test(start_paused = true)]
async fn server_that_is_no_runner_is_named_with_remedy() {
    let redirect =
        b"HTTP/1.1 302 Found\r\nlocation: https://login.example/\r\ncontent-length: 0\r\n\r\n";
    let page = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>";
    // The record that a TLS server sends to a client without TLS (RFC 8446, section 6).
    let alert = b"\x15\x03\x03\x00\x02\x02\x0a";
    let banner = b"SSH-2.0-OpenSSH_9.6\r\n";
    let other =
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    let cases: [(&'static [u8], ReconnectFailure, &str); 5] = [
        (
            redirect,
            ReconnectFailure::Misconfigured,
            "https://login.example/; use the URL of the runner",
        ),
        (page, ReconnectFailure::Misconfigured, "check the URL"),
        (alert, ReconnectFailure::Misconfigured, "use https://"),
        (banner, ReconnectFailure::Misconfigured, "check the port"),
        (
            other,
            ReconnectFailure::Version,
            "use a runner of this version",
        ),
    ];
    for (answer, expected, remedy) in cases {
        let (failure, detail) = refusal("http://127.0.0.1:1", &[answer]).await;
        assert_eq!(failure, expected, "{detail}");
        assert!(detail.contains(remedy), "{detail}");
    }
}

#[tokio::test]
async fn port_without_tls_is_named_with_remedy() {
    let answer: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    let rig = rig("https://runner.example:1", 0, HttpServer::default());
    *rig.server.raw.lock().unwrap() = Some(vec![Bytes::from_static(answer)]);
    let error = make(&rig).await.unwrap_err();
    let RemoteError::Link { failure, detail } = error else {
        panic!("{error}");
    };
    assert_eq!(failure, ReconnectFailure::Misconfigured, "{detail}");
    assert!(detail.contains("does not speak TLS"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn redirected_request_is_refused() {
    let rig = rig("http://127.0.0.1:1", 0, HttpServer::default());
    *rig.server.answer.lock().unwrap() = Some(StatusCode::TEMPORARY_REDIRECT);
    for error in [
        make(&rig).await.unwrap_err(),
        rig.remote
            .ask("GET", "/api/sessions", Bytes::new())
            .await
            .map(|_| ())
            .unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(matches!(error, RemoteError::Link { .. }), "{text}");
        assert!(text.contains("a redirect"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn token_is_not_sent_unencrypted() {
    let mut rig = rig("http://runner.example:1", 0, HttpServer::default());
    rig.remote = rig.remote.with_credentials(Token::new("hunter2"));
    let refused = make(&rig).await;
    assert!(refused.unwrap_err().to_string().contains("https://"));
    assert_eq!(rig.network.connections.load(Relaxed), 0);
    rig.remote.trust = Trust::Plaintext;
    let made = make(&rig).await;
    made.unwrap();
}

fn tls() -> Tls {
    let own = rcgen::generate_simple_self_signed(["runner.example".to_owned()]).expect("a key");
    let certificate = own.cert.der().clone();
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .expect("a certificate and its key");
    Tls {
        acceptor: Arc::new(config).into(),
        der: certificate.to_vec(),
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let suite = cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    let hash = suite.expect("TLS 1.3").common.hash_provider.hash(bytes);
    hash.as_ref().try_into().expect("32 bytes")
}

// In real time: a handshake computes, and the clock of a test would run away meanwhile.
#[tokio::test]
async fn pinned_certificate_authenticates_runner() {
    let tls = tls();
    let pin = sha256(&tls.der);
    let server = HttpServer {
        tls: Some(tls),
        ..HttpServer::default()
    };
    let mut rig = rig("https://runner.example:1", 0, server);
    for trust in [Trust::Authorities, Trust::Certificates(vec![[7; 32]])] {
        rig.remote.trust = trust;
        let refused = make(&rig).await.unwrap_err();
        let RemoteError::Link { failure, detail } = refused else {
            panic!("{refused}");
        };
        assert_eq!(failure, ReconnectFailure::Misconfigured, "{detail}");
        assert!(detail.contains("certificate is not trusted"), "{detail}");
    }
    assert!(
        rig.server.requests.lock().unwrap().is_empty(),
        "no request is sent to an unknown server"
    );
    rig.remote.trust = Trust::Certificates(vec![[7; 32], pin]);
    let session = make(&rig).await.unwrap();
    let mut output = session.reader(Stream::Output);
    session.write("in secret\n".into()).await.unwrap();
    assert_eq!(read(&mut output, 10).await, b"in secret\n");
}
