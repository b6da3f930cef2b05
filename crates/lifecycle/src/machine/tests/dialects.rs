//! The JSON-RPC dialects, against recordings of real agents (`tests/fixtures/agents`).

mod events;
mod handshake;
mod host_input;
mod permissions;
mod recorded;
mod recovery;
mod silence;
mod support;
mod turns;

use bowline_reducer::dialect::DialectName;
use serde_json::{Value, json};

use super::*;
use crate::agent::Capability;
use crate::conversations::Conversation;
use crate::permission::PermissionKind;
use support::{Recording, Session, host, opened_codex, opened_gemini, opening};
