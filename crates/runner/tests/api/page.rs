//! The page: its files, and the login by a one-time link.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::{TestResponse, TestRunner, request};

/// The files of the page.
const FILES: [&str; 4] = ["/", "/app.js", "/app.css", "/icon.svg"];

/// Creates a login link, and returns the page's address and the ticket.
async fn link(runner: &TestRunner) -> (SocketAddr, String) {
    let created = runner.request("POST", "/api/login-links", None).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let url = created.json()["url"].as_str().unwrap().to_owned();
    let (address, ticket) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once("/#login=")
        .unwrap();
    (address.parse().unwrap(), ticket.to_owned())
}

/// Logs in, as a page from that address does.
async fn log_in(page: SocketAddr, ticket: &str) -> TestResponse {
    let origin = format!("http://{page}");
    let body = json!({ "ticket": ticket });
    request(
        page,
        "POST",
        "/api/login",
        &[("Origin", &origin)],
        Some(&body),
    )
    .await
}

async fn sessions(address: SocketAddr, token: &str, origin: &str) -> TestResponse {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Origin", origin)];
    request(address, "GET", "/api/sessions", &headers, None).await
}

#[tokio::test]
async fn files_need_no_token_and_bring_the_policy() {
    let runner = TestRunner::start().await;
    for path in FILES {
        let file = request(runner.address(), "GET", path, &[], None).await;
        assert_eq!(file.status, 200, "{path}");
        let policy = file.header("Content-Security-Policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("trusted-types 'none'"),
            "{policy}"
        );
        assert_eq!(file.header("X-Content-Type-Options"), Some("nosniff"));
        let tag = file.header("ETag").unwrap();
        let known = [("If-None-Match", tag)];
        let again = request(runner.address(), "GET", path, &known, None).await;
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
    }
}

#[tokio::test]
async fn responses_are_compressed_for_clients_that_accept_it() {
    let runner = TestRunner::start().await;
    let plain = request(runner.address(), "GET", "/app.js", &[], None).await;
    assert_eq!(plain.header("Content-Encoding"), None);
    let accepts = [("Accept-Encoding", "gzip")];
    let file = request(runner.address(), "GET", "/app.js", &accepts, None).await;
    assert_eq!(file.header("Content-Encoding"), Some("gzip"));
    assert!(file.body.len() * 2 < plain.body.len());
}

#[tokio::test]
async fn files_are_refused_under_another_host_name() {
    let runner = TestRunner::start().await;
    for path in FILES {
        let rebound = [("Host", "evil.example")];
        let refused = request(runner.address(), "GET", path, &rebound, None).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (403, "HOST_REFUSED")
        );
    }
}

#[tokio::test]
async fn login_link_works_once() {
    let runner = TestRunner::start().await;
    let (page, ticket) = link(&runner).await;
    assert!(page.ip().is_loopback());
    let file = request(page, "GET", "/", &[], None).await;
    assert!(file.text().contains("app.js"));

    let logged_in = log_in(page, &ticket).await;
    assert_eq!(logged_in.status, 200, "{}", logged_in.text());
    let token = logged_in.json()["token"].as_str().unwrap().to_owned();
    let own = format!("http://{page}");
    assert_eq!(sessions(page, &token, &own).await.status, 200);
    assert_ne!(token, runner.token());

    let again = log_in(page, &ticket).await;
    assert_eq!((again.status, again.code().as_str()), (401, "LINK_WRONG"));
    let unknown = log_in(page, "ticket-unknown").await;
    assert_eq!(unknown.code(), "LINK_WRONG");
    // The ticket itself opens nothing.
    let (_, unused) = link(&runner).await;
    assert_eq!(sessions(page, &unused, &own).await.status, 401);
}

#[tokio::test]
async fn token_of_a_page_is_refused_for_pages_of_other_origins() {
    let runner = TestRunner::start().await;
    let (page, ticket) = link(&runner).await;
    let token = log_in(page, &ticket).await.json()["token"]
        .as_str()
        .unwrap()
        .to_owned();
    for origin in [
        "http://evil.example",
        "null",
        "http://localhost:1",
        "https://localhost",
    ] {
        let refused = sessions(page, &token, origin).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (403, "ORIGIN_REFUSED"),
            "{origin}"
        );
    }
    let localhost = format!("http://localhost:{}", page.port());
    assert_eq!(sessions(page, &token, &localhost).await.status, 200);
}

#[tokio::test]
async fn login_from_a_page_of_another_origin_is_refused() {
    let runner = TestRunner::start().await;
    let (page, ticket) = link(&runner).await;
    let body = json!({ "ticket": ticket });
    let evil = [("Origin", "http://evil.example")];
    let refused = request(page, "POST", "/api/login", &evil, Some(&body)).await;
    assert_eq!(refused.code(), "ORIGIN_REFUSED");
    // It has not used the ticket up.
    assert_eq!(log_in(page, &ticket).await.status, 200);
}

#[tokio::test]
async fn page_has_the_same_address_at_the_next_runner() {
    let runner = TestRunner::start().await;
    let (page, _) = link(&runner).await;
    let runner = runner.restart(|_| {}).await;
    let file = request(page, "GET", "/", &[], None).await;
    assert_eq!(file.status, 200);
    assert_eq!(link(&runner).await.0, page);
}

/// Runs a script of this repository's `.ci`, which prints what fails.
fn run(script: &str, arguments: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci");
    let status = Command::new(folder.join(script)).args(arguments).status();
    assert!(status.unwrap().success());
}

#[test]
#[ignore = "the page in Chromium: .ci/web"]
fn page_works_in_chromium() {
    run("web", &[]);
}

#[test]
#[ignore = "the page in Chromium with the real agent: .ci/agents page"]
fn page_drives_real_agent_in_chromium() {
    run("agents", &["page"]);
}
