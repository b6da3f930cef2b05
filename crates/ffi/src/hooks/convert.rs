//! Conversions from and into the hook server of the core.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::configuration::{
    HookBackend, HookConfiguration, HookGate, HookLimits, HookRoute, HookVariables,
};
use super::{HookEvent, HookEventItem, HookForwardReport, HookReply, HookReport};
use crate::core::{self, HookKind};
use crate::error::{BowlineError, Result};
use crate::event_stream::EventSource;
use crate::limits::{duration, size};
use crate::remote::TokenProvider;

impl From<&core::HookEvent> for HookEvent {
    fn from(it: &core::HookEvent) -> Self {
        Self {
            sequence: it.sequence,
            interaction: it.interaction.to_string(),
            kind: it.kind.name().to_owned(),
            session_id: it.session_id.clone(),
            transcript_path: it.transcript_path.clone(),
            cwd: it.cwd.clone(),
            prompt_id: it.prompt_id.clone(),
            permission_mode: it.permission_mode.clone(),
            agent_id: it.agent_id.clone(),
            agent_type: it.agent_type.clone(),
            effort: it.effort.clone(),
            json: it.raw().to_owned(),
        }
    }
}

pub(crate) struct HookEventSource(core::HookSubscription);

impl From<core::HookSubscription> for HookEventSource {
    fn from(subscription: core::HookSubscription) -> Self {
        Self(subscription)
    }
}

impl EventSource for HookEventSource {
    type Event = HookEventItem;

    async fn next(&mut self) -> Option<HookEventItem> {
        loop {
            return Some(match self.0.next().await? {
                core::HookEventItem::Lagged(missed) => HookEventItem::Lagged { missed },
                core::HookEventItem::Event(event) => HookEventItem::Event {
                    event: (&*event).into(),
                },
                // A kind that this version does not know.
                _ => continue,
            });
        }
    }
}

impl From<core::HookReport> for HookReport {
    fn from(it: core::HookReport) -> Self {
        Self {
            events: it.events,
            duplicates: it.duplicates,
            refused: it.refused,
            defaults: it.defaults,
            forward: it.forward.map(|it| HookForwardReport {
                delivered: it.delivered,
                failed: it.failed,
                dropped: it.dropped,
            }),
        }
    }
}

/// Passes the hooks of a session at a runner to a server, until the session ends.
pub(crate) async fn relay_hooks(mut relay: core::HookRelay, mut feed: core::HookFeed) {
    loop {
        tokio::select! {
            item = feed.next() => match item {
                Some(core::HookFeedItem::Past(line)) => relay.push(core::RelayInput::Past(line)),
                Some(core::HookFeedItem::PastEnd) => relay.push(core::RelayInput::PastEnd),
                Some(core::HookFeedItem::Line(line)) => relay.push(core::RelayInput::Line(line)),
                Some(_) => {}
                None => return,
            },
            reply = relay.next_reply() => {
                tokio::spawn(feed.answer(reply.id, reply.body));
            }
        }
    }
}

/// Adapts a provider of the host to the core.
struct BackendTokens(Arc<dyn TokenProvider>);

impl fmt::Debug for BackendTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendTokens").finish_non_exhaustive()
    }
}

impl core::HookTokenProvider for BackendTokens {
    fn token(&self, was_refused: bool) -> core::HookTokenFuture<'_> {
        let provider = Arc::clone(&self.0);
        Box::pin(async move {
            let token = tokio::task::spawn_blocking(move || provider.token(was_refused)).await;
            let token = token.map_err(|error| error.to_string())?;
            let token = token.map_err(|error| error.to_string())?;
            Ok(token.map(core::SecretString::from))
        })
    }
}

fn kinds(names: Vec<String>) -> Vec<HookKind> {
    names.iter().map(|name| HookKind::of(name)).collect()
}

impl TryFrom<HookConfiguration> for core::HookConfiguration {
    type Error = BowlineError;

    fn try_from(it: HookConfiguration) -> Result<Self> {
        let plain = Self::default();
        Ok(Self {
            kinds: it.kinds.map(kinds),
            route: match it.route {
                Some(HookRoute::Helper) => core::HookRoute::Helper,
                _ => core::HookRoute::Http,
            },
            helper: it.helper.map(|helper| match helper.args {
                None => core::HookHelper::bowline(helper.program),
                Some(args) => core::HookHelper {
                    program: helper.program.into(),
                    args,
                },
            }),
            gate: it.gate.map(TryInto::try_into).transpose()?,
            variables: it.variables.map_or(plain.variables, Into::into),
            secret_path: it.secret_path,
            backend: it.backend.map(Into::into),
            limits: it.limits.map_or(plain.limits, Into::into),
        })
    }
}

impl TryFrom<HookGate> for core::HookGate {
    type Error = BowlineError;

    fn try_from(gate: HookGate) -> Result<Self> {
        Ok(Self {
            kinds: kinds(gate.kinds),
            deadline: duration(gate.deadline_ms),
            default: gate.fallback.try_into()?,
        })
    }
}

impl From<HookVariables> for core::HookVariables {
    fn from(it: HookVariables) -> Self {
        Self {
            url: it.url,
            token: it.token,
            api_url: it.api_url,
            api_token: it.api_token,
            session_id: it.session_id,
        }
    }
}

impl From<HookBackend> for core::HookBackend {
    fn from(it: HookBackend) -> Self {
        Self {
            token: it.token.map(core::SecretString::from),
            token_provider: it.token_provider.map(|it| Arc::new(BackendTokens(it)) as _),
            authorities: it.authorities.map(Into::into),
            allow_clear_text: it.allow_clear_text,
            attempts: it.attempts,
            backoff: duration(it.backoff_ms),
            timeout: duration(it.timeout_ms),
            queue: size(it.queue),
            flush: duration(it.flush_ms),
            ..Self::new(it.url, it.session_id)
        }
    }
}

impl From<HookLimits> for core::HookLimits {
    fn from(it: HookLimits) -> Self {
        Self {
            body_bytes: size(it.body_bytes),
            header_bytes: size(it.header_bytes),
            header_time: duration(it.header_ms),
            body_time: duration(it.body_ms),
            answer_time: duration(it.answer_ms),
            connections: size(it.connections),
        }
    }
}

fn json(what: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| BowlineError::invalid(format!("parse {what}: {error}; pass JSON")))
}

impl TryFrom<HookReply> for core::HookReply {
    type Error = BowlineError;

    fn try_from(reply: HookReply) -> Result<Self> {
        let input = |text: Option<String>| text.map(|it| json("the input", &it)).transpose();
        Ok(match reply {
            HookReply::Nothing => Self::Nothing,
            HookReply::Tool {
                verdict,
                reason,
                updated_input,
                context,
            } => Self::Tool {
                verdict: verdict.into(),
                reason,
                updated_input: input(updated_input)?,
                context,
            },
            HookReply::AllowPermission {
                updated_input,
                updated_permissions,
            } => Self::Permission(core::PermissionVerdict::Allow {
                updated_input: input(updated_input)?,
                updated_permissions: rules(updated_permissions)?,
            }),
            HookReply::DenyPermission { reason, interrupt } => {
                Self::Permission(core::PermissionVerdict::Deny {
                    message: reason,
                    interrupt,
                })
            }
            HookReply::Block { reason } => Self::Block { reason },
            HookReply::Context { text } => Self::Context(text),
            HookReply::Halt { reason } => Self::Halt { reason },
            HookReply::Worktree { path } => Self::Worktree(path.into()),
            HookReply::Watch { paths } => Self::Watch(paths.into_iter().map(Into::into).collect()),
            HookReply::Retry => Self::Retry,
            HookReply::AcceptForm { content } => {
                Self::Form(core::FormAnswer::Accept(json("the form", &content)?))
            }
            HookReply::DeclineForm => Self::Form(core::FormAnswer::Decline),
            HookReply::CancelForm => Self::Form(core::FormAnswer::Cancel),
            HookReply::Raw { json: text } => Self::Raw(json("the answer", &text)?),
        })
    }
}

fn rules(text: Option<String>) -> Result<Vec<Value>> {
    match text.map(|it| json("the rules", &it)).transpose()? {
        None => Ok(Vec::new()),
        Some(Value::Array(rules)) => Ok(rules),
        Some(_) => Err(BowlineError::invalid(
            "parse the rules: not a JSON array; pass one",
        )),
    }
}
