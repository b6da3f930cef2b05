//! A server that notifications are posted to.

use std::path::Path;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};

use super::backend::{DeliveryError, endpoint};
use crate::http::PostTarget;

/// The URL of a webhook is unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("post to {url}: {reason}")]
pub struct WebhookError {
    /// The URL.
    pub url: String,
    /// Why.
    pub reason: String,
}

/// A server that JSON is posted to, each time over a connection of its own.
///
/// ```no_run
/// use bowline_hooks::{DeliveryError, Webhook};
///
/// # async fn notify() -> Result<(), Box<dyn std::error::Error>> {
/// let webhook = Webhook::new("https://hooks.example/bowline", None)?;
/// let headers = [("x-event-id", "1".to_owned())];
/// match webhook.post(&headers, "{}".into()).await {
///     Err(error) if error.is_transient() => println!("later: {error}"),
///     Err(DeliveryError::Status(status)) => println!("refused: {status}"),
///     _ => {}
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Webhook {
    target: PostTarget,
}

impl Webhook {
    /// Returns the webhook at a URL with `https`, or `http` on loopback. A PEM file may have certificate authorities beside
    /// those of the web.
    ///
    /// # Errors
    ///
    /// The URL is invalid, without encryption on another machine, or has credentials; or the authorities cannot be read.
    pub fn new(url: &str, authorities: Option<&Path>) -> Result<Self, WebhookError> {
        let target = endpoint(url, authorities, false).map_err(|reason| WebhookError {
            url: url.to_owned(),
            // There is no such setting here.
            reason: reason.replace(" or set allow_clear_text", ""),
        })?;
        Ok(Self { target })
    }

    /// Posts a JSON document, and returns once the server has accepted it. Has no time limit.
    ///
    /// # Errors
    ///
    /// The server cannot be reached or answers with another status than 2xx; or a header is invalid.
    pub async fn post(
        &self,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> Result<(), DeliveryError> {
        let mut target = self.target.clone();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_str(value);
            let (Ok(name), Ok(value)) = (name, value) else {
                let reason = "a header of the request is invalid".to_owned();
                return Err(DeliveryError::Connection(reason));
            };
            target.headers.insert(name, value);
        }
        let posted = target.post(body).await;
        let posted = posted.map_err(|error| DeliveryError::Connection(error.0))?;
        match posted.response.status() {
            status if status.is_success() => Ok(()),
            status => Err(DeliveryError::Status(status.as_u16())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhook_on_another_machine_is_encrypted() {
        assert!(Webhook::new("http://127.0.0.1:1/hook", None).is_ok());
        let error = Webhook::new("http://hooks.invalid/", None).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("http://hooks.invalid/"), "{text}");
        assert!(
            text.contains("use https://") && !text.contains("allow_clear_text"),
            "{text}"
        );
    }

    #[cfg(feature = "https")]
    #[test]
    fn path_stays_as_it_is() {
        let webhook = Webhook::new("https://hooks.invalid/a/b?key=1", None).unwrap();
        assert_eq!(webhook.target.path, "/a/b?key=1");
    }
}
