//! Turns, and which result ends which (`crates/jsonl/PROTOCOL.md`, Turns).
//!
//! A result may be late: that of an interrupted turn may follow the beginning of the next one, and
//! that of a turn of the agent's own may come while a prompt is answered. A late result is an entry
//! and closes nothing.

use std::collections::BTreeSet;

use bowline_jsonl::{CommandLifecycle, Init, RawJson, Str, TurnResult};

use crate::record::TurnOwner;
use crate::transcript::Transcript;
use crate::uuids::Uuid;

impl Transcript {
    pub(crate) fn begin_turn(&mut self, init: &Init<'_>, is_replaced: bool) {
        let about = named(None, init.user_message_uuids);
        self.evidence.turn.begin(about, is_replaced);
        self.open_turn();
    }

    pub(crate) fn result_owner(&mut self, result: &TurnResult<'_>) -> TurnOwner {
        let named = named(result.user_message_uuid, result.user_message_uuids);
        self.evidence.turn.result(&named, result.origin.is_some())
    }

    pub(crate) fn command(&mut self, command: &CommandLifecycle<'_>) {
        match &*command.state.unwrap_or_default().decode() {
            "started" => self.open_turn(),
            "completed" | "cancelled" | "discarded" | "refused" => {
                if let Some(uuid) = command.command_uuid {
                    self.drop_prompt(&uuid.decode());
                }
            }
            _ => {}
        }
    }
}

/// The prompts that a line names.
fn named(last: Option<Str<'_>>, all: Option<RawJson<'_>>) -> BTreeSet<Uuid> {
    let all = all.into_iter().flat_map(RawJson::elements);
    let all = all.filter_map(RawJson::as_str).chain(last);
    all.map(|uuid| Uuid::new(&uuid.decode())).collect()
}
