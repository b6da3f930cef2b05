//! The hooks of a build without them: no server starts, so that nothing is received and answered.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::{HookConfiguration, HookEvent, HookEventItem, HookReply, HookReport};
use crate::core;
use crate::error::{BowlineError, Result};
use crate::event_stream::EventSource;

pub(crate) type HookEventSource = core::HookSubscription;

impl EventSource for core::HookSubscription {
    type Event = HookEventItem;

    async fn next(&mut self) -> Option<HookEventItem> {
        match *self {}
    }
}

pub(crate) async fn relay_hooks(relay: core::HookRelay, _feed: core::HookFeed) {
    match relay {}
}

pub(crate) fn merge_settings(_settings: &Value, _hooks: &Value) -> Result<Value> {
    Err(BowlineError::absent("merge settings"))
}

impl TryFrom<HookConfiguration> for core::HookConfiguration {
    type Error = BowlineError;

    fn try_from(_: HookConfiguration) -> Result<Self> {
        Err(BowlineError::absent("start a hook server"))
    }
}

impl TryFrom<HookReply> for core::HookReply {
    type Error = BowlineError;

    fn try_from(_: HookReply) -> Result<Self> {
        Err(BowlineError::absent("answer a hook"))
    }
}

impl core::HookServer {
    pub(crate) async fn start(configuration: core::HookConfiguration) -> Result<Self> {
        match configuration {}
    }

    pub(crate) fn url(&self, _interaction: &str) -> Result<String> {
        match *self {}
    }

    pub(crate) fn token(&self) -> &core::SecretString {
        match *self {}
    }

    pub(crate) fn settings(&self, _interaction: &str) -> Result<Value> {
        match *self {}
    }

    pub(crate) fn settings_for(&self, _interaction: &str, _: core::AgentVersion) -> Result<Value> {
        match *self {}
    }

    pub(crate) fn environment(
        &self,
        _interaction: &str,
    ) -> Result<BTreeMap<String, core::SecretString>> {
        match *self {}
    }

    pub(crate) fn spec(&self, _interaction: &str, _: Option<core::AgentVersion>) -> Result<Value> {
        match *self {}
    }

    pub(crate) fn relay(&self, _session: String) -> core::HookRelay {
        match *self {}
    }

    pub(crate) fn subscribe(&self) -> core::HookSubscription {
        match *self {}
    }

    pub(crate) fn questions(&self) -> Option<core::HookQuestions> {
        match *self {}
    }

    pub(crate) fn report(&self) -> HookReport {
        match *self {}
    }

    pub(crate) async fn stop(self) -> HookReport {
        match self {}
    }
}

impl core::HookFeed {
    pub(crate) async fn attach(
        remote: &core::Remote,
        _session: core::SessionId,
        _has_past: bool,
    ) -> Result<Self, core::StartError> {
        match *remote {}
    }
}

impl core::HookQuestions {
    pub(crate) async fn next(&mut self) -> Option<core::HookQuestion> {
        match *self {}
    }
}

impl core::HookQuestion {
    pub(crate) fn event(&self) -> &HookEvent {
        match *self {}
    }

    pub(crate) fn remaining(&self) -> Duration {
        match *self {}
    }

    pub(crate) fn answer(self, _reply: core::HookReply) -> Result<()> {
        match self {}
    }

    pub(crate) async fn withdrawn(&mut self) {
        match *self {}
    }
}

impl From<&Self> for HookEvent {
    fn from(event: &Self) -> Self {
        event.clone()
    }
}
