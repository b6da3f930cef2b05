//! A session without a conversation, whose prompts the test sends.

use bowline_jsonl::PromptPart;
use bowline_reducer::{Cursor, HostEvent, Meta};
use bowline_runner::acp::{Attachment, Input, Intent, PromptEnd};
use serde_json::{Value, json};

use crate::editor::Editor;
use crate::recorded::{self, Recorded};

/// Id of the session.
pub(crate) const SESSION: &str = "s";

/// An editor with a session that has not begun to work.
pub(crate) struct Fixture {
    pub(crate) editor: Editor,
    pub(crate) attachment: Attachment,
    pub(crate) recorded: Recorded,
    cursor: Cursor,
}

impl Fixture {
    /// Loads the session of a recording in an editor of version 1.
    pub(crate) fn new(name: &str) -> Self {
        Self::load(Editor::new(&json!({})), name)
    }

    /// Loads the session of a recording in an editor of version 2.
    pub(crate) fn draft(name: &str) -> Self {
        Self::load(Editor::draft(&json!({})), name)
    }

    fn load(mut editor: Editor, name: &str) -> Self {
        let (mut recorded, mut cursor) = (recorded::named(name), Cursor::default());
        let attachment = editor.load(SESSION, recorded.changes(&mut cursor));
        Self {
            editor,
            attachment,
            recorded,
            cursor,
        }
    }

    /// Sends a prompt; returns the request, the parts and the uuid.
    pub(crate) fn prompt(&mut self, parts: &Value) -> (u64, Vec<PromptPart>, String) {
        let params = json!({"sessionId": SESSION, "prompt": parts});
        let id = self.editor.request("session/prompt", &params);
        match self.editor.intent() {
            Intent::Prompt { prompt, .. } => (id, prompt.parts, prompt.uuid.expect("a uuid")),
            other => panic!("{other:?}"),
        }
    }

    /// Folds a prompt that was sent to the agent.
    pub(crate) fn sent(&mut self, uuid: &str, text: &str) {
        let uuid = Some(uuid);
        let event = HostEvent::PromptSent { uuid, text };
        self.recorded.transcript.apply_host(event, Meta::default());
    }

    /// Passes the changes of the transcript to the editor.
    pub(crate) fn changes(&mut self) {
        let changes = self.recorded.changes(&mut self.cursor);
        self.editor.changes(self.attachment, changes);
    }

    /// Folds the recording to its end.
    pub(crate) fn run(&mut self) {
        self.recorded.finish();
        self.changes();
    }

    /// Reports how a prompt ended.
    pub(crate) fn end(&mut self, uuid: String, end: PromptEnd) {
        let attachment = self.attachment;
        self.editor.input(Input::PromptEnded {
            attachment,
            uuid,
            end,
        });
    }
}
