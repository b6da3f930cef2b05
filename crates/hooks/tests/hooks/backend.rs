//! Events forwarded to a backend.

use std::io::Write as _;
use std::time::Duration;

use bowline_hooks::{
    HookBackend, HookConfiguration, HookServer, HookServerError, HookTokenFuture,
    HookTokenProvider, HookVariables,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use crate::support::{DEADLINE, Hook, backend, secure_backend, within};

async fn server(backend: HookBackend) -> HookServer {
    let configuration = HookConfiguration {
        backend: Some(backend),
        variables: HookVariables::legacy_names(),
        ..HookConfiguration::default()
    };
    HookServer::start(configuration).await.expect("a server")
}

fn to(url: &str) -> HookBackend {
    HookBackend {
        token: Some(SecretString::from("api-token")),
        backoff: Duration::from_millis(1),
        ..HookBackend::new(url, "42")
    }
}

#[tokio::test]
async fn event_is_forwarded_with_its_context() {
    let (url, received) = backend(&[200, 201]);
    let server = server(to(&url)).await;
    let hook = Hook::of(&server, "interaction-7");
    for name in ["SessionStart", "SessionEnd"] {
        let body = json!({"hook_event_name": name, "session_id": "c"}).to_string();
        assert_eq!(hook.post(&body).await.0, 200);
    }
    let report = within("a stop", server.stop())
        .await
        .forward
        .expect("a report");
    assert_eq!((report.delivered, report.failed, report.dropped), (2, 0, 0));
    for name in ["SessionStart", "SessionEnd"] {
        let request = received.recv_timeout(DEADLINE).expect("a request");
        assert_eq!(request.line, "POST /api/sessions/42/events HTTP/1.1");
        assert_eq!(request.authorization, "Bearer api-token");
        assert_eq!(request.body["session_id"], "42");
        assert_eq!(request.body["interaction_id"], "interaction-7");
        assert_eq!(request.body["event_type"], name);
        let event = json!({"hook_event_name": name, "session_id": "c"});
        assert_eq!(request.body["event_data"], event);
        let timestamp = request.body["timestamp"].as_str().expect("a time");
        assert!(
            timestamp.starts_with("20") && timestamp.ends_with('Z'),
            "{timestamp}"
        );
    }
}

#[tokio::test]
async fn transient_error_is_retried() {
    let (url, received) = backend(&[500, 429, 200]);
    let server = server(to(&url)).await;
    Hook::of(&server, "i")
        .post(r#"{"hook_event_name":"Stop"}"#)
        .await;
    let report = within("a stop", server.stop())
        .await
        .forward
        .expect("a report");
    assert_eq!((report.delivered, report.failed), (1, 0));
    assert_eq!(received.iter().count(), 3);
}

#[cfg(feature = "https")]
#[tokio::test]
async fn https_backend_with_own_authority_receives_events() {
    let (url, pem, received) = secure_backend(&[503, 200]);
    let mut authorities = tempfile::NamedTempFile::new().expect("a file");
    authorities
        .write_all(pem.as_bytes())
        .expect("a certificate");
    let server = server(HookBackend {
        authorities: Some(authorities.path().to_owned()),
        ..to(&url)
    })
    .await;
    Hook::of(&server, "i")
        .post(r#"{"hook_event_name":"Stop"}"#)
        .await;
    let report = within("a stop", server.stop())
        .await
        .forward
        .expect("a report");
    assert_eq!((report.delivered, report.failed), (1, 0));
    for _ in 0..2 {
        let request = received.recv_timeout(DEADLINE).expect("a request");
        assert_eq!(request.authorization, "Bearer api-token");
        assert_eq!(request.body["event_type"], "Stop");
    }
}

#[cfg(feature = "https")]
#[tokio::test]
async fn untrusted_backend_receives_nothing() {
    let (url, _, received) = secure_backend(&[200, 200, 200]);
    let server = server(HookBackend {
        attempts: 3,
        ..to(&url)
    })
    .await;
    Hook::of(&server, "i")
        .post(r#"{"hook_event_name":"Stop"}"#)
        .await;
    let report = within("a stop", server.stop())
        .await
        .forward
        .expect("a report");
    assert_eq!((report.delivered, report.failed), (0, 1));
    assert_eq!(received.iter().count(), 0);
}

#[tokio::test]
async fn unreachable_backend_does_not_fail_the_hook() {
    let (url, _) = backend(&[]);
    let server = server(to(&url)).await;
    let (status, _) = Hook::of(&server, "i")
        .post(r#"{"hook_event_name":"SessionEnd"}"#)
        .await;
    assert_eq!(status, 200);
    let report = within("a stop", server.stop())
        .await
        .forward
        .expect("a report");
    assert_eq!((report.delivered, report.failed), (0, 1));
}

#[tokio::test]
async fn legacy_names_set_four_variables() {
    let server = server(to("http://127.0.0.1:9")).await;
    let variables = server.environment("7").expect("variables");
    let value = |name: &str| variables[name].expose_secret();
    assert_eq!(
        value("CODE_MY_SPEC_CALLBACK_URL"),
        server.url("7").expect("an address")
    );
    assert_eq!(value("CODE_MY_SPEC_API_URL"), "http://127.0.0.1:9");
    assert_eq!(value("CODE_MY_SPEC_API_TOKEN"), "api-token");
    assert_eq!(value("CODE_MY_SPEC_SESSION_ID"), "42");
    assert_eq!(value("BOWLINE_HOOK_TOKEN"), server.token().expose_secret());
    let shown = format!("{variables:?}");
    assert!(!shown.contains("api-token") && !shown.contains(server.token().expose_secret()));
}

#[tokio::test]
async fn backend_token_is_not_exported_by_default() {
    let configuration = HookConfiguration {
        backend: Some(to("http://127.0.0.1:9")),
        ..HookConfiguration::default()
    };
    let server = HookServer::start(configuration).await.expect("a server");
    let variables = server.environment("7").expect("variables");
    let names: Vec<_> = variables.keys().map(String::as_str).collect();
    assert_eq!(names, ["BOWLINE_HOOK_TOKEN", "BOWLINE_HOOK_URL"]);
}

#[tokio::test]
async fn clear_text_to_another_machine_is_refused() {
    let configuration = HookConfiguration {
        backend: Some(to("http://backend.invalid")),
        ..HookConfiguration::default()
    };
    let error = HookServer::start(configuration)
        .await
        .expect_err("in clear text");
    assert!(matches!(error, HookServerError::Backend { .. }));
    assert!(!error.to_string().contains("api-token"));
}

/// Returns `old` until the backend refuses it.
#[derive(Debug, Default)]
struct Renewing(std::sync::Mutex<Vec<bool>>);

impl HookTokenProvider for Renewing {
    fn token(&self, was_refused: bool) -> HookTokenFuture<'_> {
        let mut asked = self.0.lock().expect("no panic");
        asked.push(was_refused);
        let token = if asked.contains(&true) { "new" } else { "old" };
        Box::pin(async move { Ok(Some(SecretString::from(token))) })
    }
}

#[tokio::test]
async fn token_provider_is_asked_for_each_attempt() {
    let (url, received) = backend(&[200, 401, 200]);
    let tokens = std::sync::Arc::new(Renewing::default());
    let server = server(HookBackend {
        token_provider: Some(tokens.clone()),
        ..to(&url)
    })
    .await;
    let hook = Hook::of(&server, "i");
    for _ in 0..2 {
        hook.post(r#"{"hook_event_name":"Stop"}"#).await;
    }
    let report = within("a stop", server.stop())
        .await
        .forward
        .expect("a report");
    assert_eq!((report.delivered, report.failed), (2, 0));
    let shown: Vec<_> = received.iter().map(|it| it.authorization).collect();
    assert_eq!(shown, ["Bearer old", "Bearer old", "Bearer new"]);
    assert_eq!(*tokens.0.lock().expect("no panic"), [false, false, true]);
}
