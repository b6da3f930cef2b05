//! What the refusal of a runner, or of a server in its place, means, and how to resolve it.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use tokio_tungstenite::tungstenite::http::header::{HeaderValue, LOCATION, RETRY_AFTER};
use tokio_tungstenite::tungstenite::http::{Response, StatusCode};

use super::credentials::Token;
use super::machine::LinkError;
use super::tls;
use super::url::RemoteUrl;
use crate::connection::ReconnectFailure;

/// The error code of a runner that does not accept the `Host` header.
const HOST_REFUSED: &str = "HOST_REFUSED";

/// Error codes of a runner that does not accept the page that a request comes from.
const PAGE_REFUSED: [&str; 2] = ["ORIGIN_REFUSED", "SITE_REFUSED"];

/// Maximum length of a quoted redirect target, in characters.
const MAX_LOCATION: usize = 200;

/// The error response of a runner.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Problem {
    pub(super) code: String,
    pub(super) detail: String,
    pub(super) next: String,
}

impl Problem {
    /// Parses the body of an error response. A server that is no runner, or a body that did not arrive,
    /// gives an empty problem.
    pub(super) fn parse(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// Parses the message of a gRPC status, which a runner writes as `CODE: detail; next`.
    #[cfg(feature = "grpc")]
    pub(super) fn of_grpc(message: &str) -> Self {
        let (code, text) = message.split_once(": ").unwrap_or_default();
        let (detail, next) = text.rsplit_once("; ").unwrap_or((text, ""));
        let [code, detail, next] = [code, detail, next].map(str::to_owned);
        Self { code, detail, next }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// Returns the detail with the remedy.
    pub(super) fn text(&self) -> String {
        [self.detail.as_str(), self.next.as_str()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Returns the code with its text.
    fn with_code(&self) -> String {
        format!("{}: {}", self.code, self.text())
    }

    /// Returns the error of a refusal that another token does not change: the `Host` header or the page that the
    /// request comes from.
    pub(super) fn not_of_token(&self, url: &RemoteUrl) -> Option<LinkError> {
        if self.code == HOST_REFUSED {
            let host = url.authority();
            return Some(misconfigured(format!(
                "the runner refused the host name {host}; start it with --host {host}"
            )));
        }
        let is_page = PAGE_REFUSED.contains(&self.code.as_str());
        is_page.then(|| misconfigured(format!("the runner answered {}", self.with_code())))
    }
}

/// Converts a refusal over HTTP. The body may be missing.
pub(super) fn refused(url: &RemoteUrl, response: &Response<Bytes>) -> LinkError {
    let status = response.status();
    let problem = Problem::parse(response.body());
    if status == StatusCode::FORBIDDEN
        && let Some(refused) = problem.not_of_token(url)
    {
        return refused;
    }
    let header = |name| response.headers().get(name).and_then(|it| it.to_str().ok());
    let text = match failure(status) {
        ReconnectFailure::Misconfigured if status.is_redirection() => {
            return misconfigured(redirected(status.as_str(), header(LOCATION)));
        }
        _ if !problem.is_empty() => format!("{} {}", status.as_str(), problem.with_code()),
        ReconnectFailure::Auth => format!("{status}; check the token"),
        ReconnectFailure::Version => format!("{status}; use a runner of this version"),
        ReconnectFailure::Misconfigured => {
            format!("{status}; no runner answers at {url}; check the URL")
        }
        _ => status.to_string(),
    };
    let mut why = LinkError::new(failure(status), format!("the runner answered {text}"));
    let seconds = header(RETRY_AFTER).and_then(|it| it.parse().ok());
    why.after = seconds.map(Duration::from_secs);
    why
}

/// Describes a redirect, which is not followed: the token is for the runner of the URL only.
pub(super) fn redirected(status: &str, location: Option<&str>) -> String {
    let target = location.map(|it| it.chars().take(MAX_LOCATION).collect::<String>());
    let target = target.map_or_else(String::new, |target| format!(" to {target}"));
    format!("the runner answered {status}, a redirect{target}; use the URL of the runner itself")
}

/// Converts an error of a connection on which no response arrived.
pub(super) fn unanswered(url: &RemoteUrl, error: &hyper::Error) -> LinkError {
    let what = "no response from the runner";
    if !error.is_parse() {
        return tls::broken(what, error);
    }
    misconfigured(format!(
        "{what}: {url} does not answer in HTTP ({error}); check the port, and use https:// for a \
         runner with TLS"
    ))
}

/// Maps the status of a refusal to the kind of failure.
pub(super) fn failure(status: StatusCode) -> ReconnectFailure {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ReconnectFailure::Auth,
        StatusCode::NOT_FOUND => ReconnectFailure::Gone,
        StatusCode::GONE => ReconnectFailure::Expired,
        StatusCode::UPGRADE_REQUIRED | StatusCode::HTTP_VERSION_NOT_SUPPORTED => {
            ReconnectFailure::Version
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {
            ReconnectFailure::Lost
        }
        status if status.is_server_error() => ReconnectFailure::Lost,
        _ => ReconnectFailure::Misconfigured,
    }
}

/// Returns the value of the `Authorization` header, or the refusal of a token that none can have.
pub(super) fn authorization(token: &Token) -> Result<HeaderValue, LinkError> {
    let mut value = HeaderValue::from_str(&token.bearer()).map_err(|_| {
        let detail = "the token has characters that are not allowed in a header; check the token";
        LinkError::new(ReconnectFailure::Auth, detail)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn misconfigured(detail: impl Into<String>) -> LinkError {
    LinkError::new(ReconnectFailure::Misconfigured, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: StatusCode, header: Option<(&str, &str)>, body: &str) -> LinkError {
        let url = "http://127.0.0.1:8080".parse().unwrap();
        let mut response = Response::builder().status(status);
        if let Some((name, value)) = header {
            response = response.header(name, value);
        }
        let body = Bytes::copy_from_slice(body.as_bytes());
        refused(&url, &response.body(body).unwrap())
    }

    #[test]
    fn refused_host_is_not_a_refused_token() {
        let error = refusal(StatusCode::FORBIDDEN, None, r#"{"code":"HOST_REFUSED"}"#);
        let detail = "the runner refused the host name 127.0.0.1:8080; \
                      start it with --host 127.0.0.1:8080";
        assert_eq!(error, misconfigured(detail));
    }

    #[test]
    fn other_refusals_are_authentication_failures() {
        for body in ["", "<html>", r#"{"code":"SCOPE_REFUSED"}"#] {
            let error = refusal(StatusCode::FORBIDDEN, None, body);
            assert_eq!(error.failure, ReconnectFailure::Auth, "{body}");
        }
        let error = refusal(StatusCode::UNAUTHORIZED, None, "");
        assert!(
            error.detail.ends_with("; check the token"),
            "{}",
            error.detail
        );
    }

    #[test]
    fn every_refusal_names_its_own_code() {
        for (status, code, failure) in [
            (403, "ORIGIN_REFUSED", ReconnectFailure::Misconfigured),
            (403, "SITE_REFUSED", ReconnectFailure::Misconfigured),
            (403, "SCOPE_REFUSED", ReconnectFailure::Auth),
            (401, "TOKEN_WRONG", ReconnectFailure::Auth),
            (426, "VERSION", ReconnectFailure::Version),
            (429, "RATE_LIMITED", ReconnectFailure::Lost),
            (503, "SESSION_BUSY", ReconnectFailure::Lost),
        ] {
            let body = format!(r#"{{"code":"{code}","detail":"a fact","next":"a remedy"}}"#);
            let error = refusal(StatusCode::from_u16(status).unwrap(), None, &body);
            assert_eq!(error.failure, failure, "{code}");
            let text = format!("{code}: a fact; a remedy");
            assert!(error.detail.ends_with(&text), "{}", error.detail);
            assert!(!error.detail.contains("check the token"), "{code}");
        }
    }

    #[test]
    fn redirect_names_its_target() {
        let long = format!("https://login.example/{}", "x".repeat(5000));
        for target in ["https://login.example/", &long] {
            let error = refusal(StatusCode::FOUND, Some(("location", target)), "");
            assert_eq!(error.failure, ReconnectFailure::Misconfigured);
            assert!(
                error.detail.contains("to https://login.example/"),
                "{}",
                error.detail
            );
            assert!(error.detail.ends_with("use the URL of the runner itself"));
            assert!(error.detail.len() < 400, "{}", error.detail.len());
        }
    }

    #[test]
    fn server_that_is_no_runner_is_reported_with_its_url() {
        for status in [
            StatusCode::OK,
            StatusCode::BAD_REQUEST,
            StatusCode::METHOD_NOT_ALLOWED,
        ] {
            let error = refusal(status, None, "<html>");
            assert_eq!(error.failure, ReconnectFailure::Misconfigured, "{status}");
            assert!(error.detail.contains("check the URL"), "{}", error.detail);
        }
    }

    #[test]
    fn endless_delay_is_kept_as_requested() {
        let most = u64::MAX.to_string();
        let busy = StatusCode::SERVICE_UNAVAILABLE;
        let error = refusal(busy, Some(("retry-after", &most)), "");
        assert_eq!(error.failure, ReconnectFailure::Lost);
        assert_eq!(error.after, Some(Duration::from_secs(u64::MAX)));
        let error = refusal(
            busy,
            Some(("retry-after", "Fri, 31 Dec 2027 23:59:59 GMT")),
            "",
        );
        assert_eq!(error.after, None);
    }
}
