//! Which rights the credentials lack.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::connect::Connection;
use super::service::SERVICE_NAME;
use crate::bus::{Bucket, BusError, FILE_STORE, LOG_STREAM, Messages as _, SERVERS_SUBJECT};

/// Longest time until a refusal to receive a subject is known, after the server has answered a later request.
const REFUSED_WITHIN: Duration = Duration::from_millis(300);

impl Connection {
    /// Returns the subjects that the credentials may not use and that this version needs: of a runner, if they may read
    /// its log's last message, and of a host otherwise. Asks for what changes nothing.
    ///
    /// # Errors
    ///
    /// The servers do not answer, or refuse the credentials altogether.
    pub async fn missing_rights(&self) -> Result<Vec<String>, BusError> {
        let log = format!("$JS.API.STREAM.MSG.GET.{LOG_STREAM}");
        let is_runner = self.may_ask(&log).await?;
        let mut needed = vec![
            format!("$JS.API.STREAM.INFO.{LOG_STREAM}"),
            format!("$JS.API.STREAM.INFO.OBJ_{FILE_STORE}"),
            SERVERS_SUBJECT.to_owned(),
            "bl.link.doctor".to_owned(),
            "bl.sessions.doctor".to_owned(),
            format!("$SRV.PING.{SERVICE_NAME}.doctor"),
        ];
        let read = [Bucket::Runners, Bucket::Seen, Bucket::Sessions];
        let claims = [Bucket::Claims].into_iter().filter(|_| is_runner);
        for bucket in read.into_iter().chain(claims) {
            needed.push(format!("$JS.API.STREAM.MSG.GET.KV_{}", bucket.name()));
        }
        let mut received = Vec::new();
        if is_runner {
            let meta = format!("$O.{FILE_STORE}.M.doctor");
            needed.push(format!("$JS.API.DIRECT.GET.OBJ_{FILE_STORE}.{meta}"));
            received.push(format!("$SRV.PING.{SERVICE_NAME}"));
            let user = self.user.as_deref();
            received.extend(user.map(|it| format!("bl.sessions.{it}")));
        }
        let mut missing = Vec::new();
        for subject in needed {
            if !self.may_ask(&subject).await? {
                missing.push(format!("publish to {subject}"));
            }
        }
        for subject in received {
            if !self.may_receive(&subject).await? {
                missing.push(format!("subscribe to {subject}"));
            }
        }
        Ok(missing)
    }

    async fn may_ask(&self, subject: &str) -> Result<bool, BusError> {
        match self.request(subject, Bytes::new()).await {
            Err(BusError::Denied(_)) => Ok(false),
            Err(error @ (BusError::Refused | BusError::Unanswered)) => Err(error),
            Ok(_) | Err(_) => Ok(true),
        }
    }

    async fn may_receive(&self, subject: &str) -> Result<bool, BusError> {
        let mut messages = self.subscribe(subject).await?;
        // What the server says to the subscription comes before its reply.
        self.may_ask(SERVERS_SUBJECT).await?;
        let next = timeout(REFUSED_WITHIN, messages.recv()).await;
        Ok(!matches!(next, Ok(None)))
    }
}
