//! Plan, commands, settings, title and usage of a session.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandsUpdate, ConfigOptionUpdate, Cost, CurrentModeUpdate, Plan,
    PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate, SessionUpdate, UsageUpdate,
};
use bowline_reducer::model::{Command, PlanItem, PlanPriority, PlanState};
use bowline_reducer::owned::{SessionValue, UsageValue};

use crate::api::acp::settings::Settings;

/// What an editor knows of a session beside the conversation.
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

    /// Returns the updates that tell what changed.
    pub(super) fn session(
        &mut self,
        session: &SessionValue,
        has_switches: bool,
    ) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        if self.title != session.title {
            self.title.clone_from(&session.title);
            let title = SessionInfoUpdate::new().title(session.title.clone());
            updates.push(SessionUpdate::SessionInfoUpdate(title));
        }
        if self.plan != session.plan {
            self.plan.clone_from(&session.plan);
            let steps = session.plan.iter().map(step).collect();
            updates.push(SessionUpdate::Plan(Plan::new(steps)));
        }
        if self.commands != session.commands {
            self.commands.clone_from(&session.commands);
            let commands = session.commands.iter().map(command).collect();
            let update = AvailableCommandsUpdate::new(commands);
            updates.push(SessionUpdate::AvailableCommandsUpdate(update));
        }
        let settings = Settings::of(session);
        if self.settings != settings {
            let mode = settings
                .mode()
                .filter(|mode| self.settings.mode() != Some(mode));
            if let Some(mode) = mode {
                let update = CurrentModeUpdate::new(mode.to_owned());
                updates.push(SessionUpdate::CurrentModeUpdate(update));
            }
            let update = ConfigOptionUpdate::new(settings.options(has_switches));
            updates.push(SessionUpdate::ConfigOptionUpdate(update));
            self.settings = settings;
        }
        let context = session.context.and_then(|it| Some((it.used?, it.size?)));
        if context.is_some() && self.context != context {
            self.context = context;
            updates.extend(self.usage_update());
        }
        updates
    }

    /// Returns the update that tells the new cost.
    pub(super) fn usage(&mut self, usage: &UsageValue) -> Option<SessionUpdate> {
        let is_new = self.cost_usd.to_bits() != usage.cost_usd.to_bits();
        self.cost_usd = usage.cost_usd;
        self.usage_update().filter(|_| is_new)
    }

    fn usage_update(&self) -> Option<SessionUpdate> {
        let (used, size) = self.context?;
        let cost = (self.cost_usd > 0.0).then(|| Cost::new(self.cost_usd, "USD"));
        Some(SessionUpdate::UsageUpdate(
            UsageUpdate::new(used, size).cost(cost),
        ))
    }
}

fn step(item: &PlanItem) -> PlanEntry {
    let priority = match item.priority {
        Some(PlanPriority::High) => PlanEntryPriority::High,
        Some(PlanPriority::Low) => PlanEntryPriority::Low,
        _ => PlanEntryPriority::Medium,
    };
    let status = match item.state {
        PlanState::InProgress => PlanEntryStatus::InProgress,
        PlanState::Completed => PlanEntryStatus::Completed,
        _ => PlanEntryStatus::Pending,
    };
    PlanEntry::new(item.text.clone(), priority, status)
}

fn command(command: &Command) -> AvailableCommand {
    let description = command.description.clone().unwrap_or_default();
    AvailableCommand::new(command.name.clone(), description)
}
