//! Messages that both versions of the protocol write in the same form. The types of the versions have the same names
//! but are distinct, so that macros produce both.

/// Defines the module `shared` with the writers of a version.
macro_rules! shared_messages {
    ($version:ident) => {
        mod shared {
            use agent_client_protocol_schema::$version::{
                ConfigOptionUpdate, Cost, Notice, NoticeSeverity, PermissionOption,
                PermissionOptionKind, PlanEntry, PlanEntryPriority, PlanEntryStatus,
                SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption,
                SessionInfoUpdate, SessionUpdate, StateUpdate, SubagentUpdate, ToolCallLocation,
                ToolKind, UsageUpdate,
            };
            use bowline_reducer::model::{
                self, AnswerKind, PlanItem, PlanPriority, PlanState, RequestOption, SessionOption,
            };
            use $crate::api::acp::update::{Progress, Update};

            /// Writes an update; `None` if its form depends on the version, or the version has none.
            pub(super) fn update(
                update: Update,
                state: fn(Progress) -> StateUpdate,
            ) -> Option<SessionUpdate> {
                Some(match update {
                    Update::Options(all) => {
                        SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options(&all)))
                    }
                    Update::Title(title) => {
                        SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))
                    }
                    Update::Usage {
                        used,
                        size,
                        cost_usd,
                    } => {
                        let update = UsageUpdate::new(used, size);
                        SessionUpdate::UsageUpdate(if cost_usd > 0.0 {
                            update.cost(Cost::new(cost_usd, "USD"))
                        } else {
                            update
                        })
                    }
                    Update::Notice { is_error, text } => {
                        let severity = if is_error {
                            NoticeSeverity::Error
                        } else {
                            NoticeSeverity::Info
                        };
                        SessionUpdate::Notice(Notice::new(severity, text))
                    }
                    Update::Child {
                        session,
                        title,
                        progress,
                    } => {
                        let mut update = SubagentUpdate::new(session).state(state(progress));
                        if let Some(title) = title {
                            update = update.title(title);
                        }
                        SessionUpdate::SubagentUpdate(update)
                    }
                    Update::Text(_)
                    | Update::ToolCall(_)
                    | Update::Plan(_)
                    | Update::Commands(_)
                    | Update::Mode(_)
                    | Update::Progress(_) => return None,
                })
            }

            /// Writes the possible answers of a permission request.
            pub(super) fn answers(options: Vec<RequestOption>) -> Vec<PermissionOption> {
                let options = options.into_iter().map(|option| {
                    let kind = match option.kind {
                        AnswerKind::AllowOnce => PermissionOptionKind::AllowOnce,
                        AnswerKind::AllowAlways => PermissionOptionKind::AllowAlways,
                        AnswerKind::RejectAlways => PermissionOptionKind::RejectAlways,
                        _ => PermissionOptionKind::RejectOnce,
                    };
                    PermissionOption::new(option.id, option.name, kind)
                });
                options.collect()
            }

            pub(super) fn step(item: &PlanItem) -> PlanEntry {
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

            pub(super) const fn kind(kind: model::ToolKind) -> ToolKind {
                match kind {
                    model::ToolKind::Read => ToolKind::Read,
                    model::ToolKind::Edit => ToolKind::Edit,
                    model::ToolKind::Delete => ToolKind::Delete,
                    model::ToolKind::Move => ToolKind::Move,
                    model::ToolKind::Search => ToolKind::Search,
                    model::ToolKind::Execute => ToolKind::Execute,
                    model::ToolKind::Think => ToolKind::Think,
                    model::ToolKind::Fetch => ToolKind::Fetch,
                    model::ToolKind::SwitchMode => ToolKind::SwitchMode,
                    _ => ToolKind::Other,
                }
            }

            pub(super) fn location(location: &model::Location) -> ToolCallLocation {
                let line = location.line.and_then(|line| u32::try_from(line).ok());
                ToolCallLocation::new(location.path.as_str()).line(line)
            }

            /// Writes settings. One without a value is left out.
            pub(in crate::api::acp) fn options(
                options: &[SessionOption],
            ) -> Vec<SessionConfigOption> {
                options.iter().filter_map(option).collect()
            }

            fn option(option: &SessionOption) -> Option<SessionConfigOption> {
                let value = option.value.clone()?;
                let (id, name) = (option.id.clone(), option.name.clone());
                let config = if option.choices.is_empty() {
                    SessionConfigOption::boolean(id, name, value.parse().ok()?)
                } else {
                    let choices = option.choices.iter().map(|choice| {
                        SessionConfigSelectOption::new(choice.id.clone(), choice.name.clone())
                            .description(choice.description.clone())
                    });
                    SessionConfigOption::select(id, name, value, choices.collect::<Vec<_>>())
                };
                let category = option.category.as_deref().map(|category| match category {
                    "mode" => SessionConfigOptionCategory::Mode,
                    "model" => SessionConfigOptionCategory::Model,
                    "model_config" => SessionConfigOptionCategory::ModelConfig,
                    "thought_level" => SessionConfigOptionCategory::ThoughtLevel,
                    other => SessionConfigOptionCategory::Other(other.to_owned()),
                });
                Some(config.category(category))
            }
        }
    };
}

pub(super) use shared_messages;
