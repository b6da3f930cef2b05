//! Plan, commands, settings, title and usage of a session.

use bowline_reducer::model::{Command, PlanItem};
use bowline_reducer::owned::{SessionValue, UsageValue};

use crate::api::acp::settings::Settings;
use crate::api::acp::update::Update;

/// State of a session that the editor has, apart from the conversation.
#[derive(Debug, Default)]
pub(in crate::api::acp) struct SessionState {
    title: Option<String>,
    plan: Vec<PlanItem>,
    commands: Vec<Command>,
    settings: Settings,
    /// Used tokens and size of the context window.
    context: Option<(u64, u64)>,
    cost_usd: f64,
}

impl SessionState {
    pub(in crate::api::acp) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(in crate::api::acp) const fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    pub(in crate::api::acp) fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// Returns the updates of members that changed.
    pub(super) fn session(&mut self, session: &SessionValue, has_switches: bool) -> Vec<Update> {
        let mut updates = Vec::new();
        if self.title != session.title {
            self.title.clone_from(&session.title);
            updates.push(Update::Title(session.title.clone()));
        }
        if self.plan != session.plan {
            self.plan.clone_from(&session.plan);
            updates.push(Update::Plan(session.plan.clone()));
        }
        if self.commands != session.commands {
            self.commands.clone_from(&session.commands);
            updates.push(Update::Commands(session.commands.clone()));
        }
        let settings = Settings::of(session, has_switches);
        if self.settings != settings {
            let mode = |it: &Settings| it.mode().and_then(|mode| mode.value.clone());
            let new = mode(&settings).filter(|new| mode(&self.settings).as_ref() != Some(new));
            updates.extend(new.map(Update::Mode));
            updates.push(Update::Options(settings.options().to_vec()));
            self.settings = settings;
        }
        let context = session.context.and_then(|it| Some((it.used?, it.size?)));
        if context.is_some() && self.context != context {
            self.context = context;
            updates.extend(self.usage_update());
        }
        updates
    }

    /// Returns the update with the new cost.
    pub(super) fn usage(&mut self, usage: &UsageValue) -> Option<Update> {
        let is_new = self.cost_usd.to_bits() != usage.cost_usd.to_bits();
        self.cost_usd = usage.cost_usd;
        self.usage_update().filter(|_| is_new)
    }

    fn usage_update(&self) -> Option<Update> {
        let (used, size) = self.context?;
        Some(Update::Usage {
            used,
            size,
            cost_usd: self.cost_usd,
        })
    }
}
