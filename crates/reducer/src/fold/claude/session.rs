//! Session identity and settings.

use bowline_jsonl::{Body, ConversationReset, Event, Init, RawJson, Str};

use crate::dialect_name::DialectName;
use crate::model::Command;
use crate::record::ThreadId;
use crate::transcript::{LineContext, Transcript};

impl Transcript {
    /// Enters the conversation of the first line. Late lines of an old conversation may follow
    /// those of a new one, so that afterwards only `init` and a reset change it.
    pub(crate) fn note_session(&mut self, event: &Event<'_>) {
        if self.session.id.is_some() && !self.session.is_rotating {
            return;
        }
        if let Some(id) = event.session_id {
            self.enter(&id.decode());
        }
    }

    pub(crate) fn init(&mut self, event: &Event<'_>, init: &Init<'_>) {
        let is_replaced = std::mem::take(&mut self.session.is_rotating);
        // A message that still streams was cut short: its run was killed, or its turn interrupted.
        self.close_drafts(ThreadId::MAIN..=ThreadId::MAIN);
        if let Some(id) = event.session_id {
            self.enter(&id.decode());
        }
        self.set_session(init.model, |it| &mut it.model);
        self.set_session(init.cwd, |it| &mut it.cwd);
        self.set_session(init.claude_code_version, |it| &mut it.cli_version);
        self.set_session(init.permission_mode, |it| &mut it.permission_mode);
        self.update_options();
        self.qwen_init(event.raw);
        self.begin_turn(init, is_replaced);
    }

    /// Qwen Code speaks this protocol, too, and says so at the beginning of each turn.
    fn qwen_init(&mut self, init: RawJson<'_>) {
        let text = |key| init.get(key).and_then(RawJson::as_str);
        if let Some(version) = text("qwen_code_version") {
            self.set_session(Some(version), |it| &mut it.cli_version);
            self.set_permission_mode(text("permission_mode"));
            if self.dialect_name != DialectName::Qwen {
                self.dialect_name = DialectName::Qwen;
                self.touch_session();
            }
        }
    }

    /// Takes the commands that the agent offers: objects with name and description.
    pub(crate) fn note_commands(&mut self, commands: RawJson<'_>) {
        let text = |it: RawJson<'_>, key| {
            let text = it.get(key).and_then(RawJson::as_str);
            text.map(|text| text.decode().into_owned())
        };
        let command = |it: RawJson<'_>| Command {
            name: text(it, "name").unwrap_or_default(),
            description: text(it, "description"),
        };
        let commands = commands.elements().map(command).collect();
        self.set_neutral(|it| &mut it.commands, commands);
    }

    pub(crate) fn conversation_reset(
        &mut self,
        reset: &ConversationReset<'_>,
        context: LineContext,
    ) {
        self.session.is_rotating = true;
        self.usage.rebase();
        let trigger = reset.trigger.unwrap_or_default();
        let text = format!("the conversation was replaced ({trigger})");
        self.notice("conversation_reset", &text, context);
    }

    pub(crate) fn set_permission_mode(&mut self, mode: Option<Str<'_>>) {
        self.set_session(mode, |it| &mut it.permission_mode);
        self.update_options();
    }

    pub(crate) fn unknown_line(
        &mut self,
        event: &Event<'_>,
        kind: Option<Str<'_>>,
        context: LineContext,
    ) {
        debug_assert!(matches!(event.body, Body::Unknown { .. }));
        let name = kind.map_or_else(|| "?".to_owned(), |kind| kind.decode().into_owned());
        self.textual_notice(&name, event.raw, context);
        self.count_unknown(name);
    }
}
