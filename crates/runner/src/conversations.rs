//! Conversations: the dialogue sessions that this daemon drives.
//!
//! A conversation is a session that was started here by the name of its agent. The daemon is a host like others
//! of its shim: it drives the agent with the state machine of `bowline-lifecycle`, and no other host writes the
//! agent's lines. REST, ACP and other faces submit intents: a prompt, an answer, an interrupt. Each intent is a
//! line with an id, which is appended to the session's control stream before it takes effect, and takes effect
//! when it comes back from there.
//!
//! The daemon keeps no state of its own. After a restart it folds output, input and control again, in their
//! order, and writes what is missing; the shim ignores a line whose id it knows.
//!
//! | module | contents |
//! |---|---|
//! | `store` | the conversations that are driven: start, attach, restore |
//! | `conversation` | the handle of one |
//! | `driver` | the task of one: the control stream, and the outcome of each intent |
//! | `recover` | folds the log of one |
//! | `control_lines` | cuts the control stream into lines |
//! | `decision` | the lines of the control stream |
//! | `start` | what one is started from |

mod control_lines;
mod conversation;
mod decision;
mod driver;
mod error;
mod recover;
mod start;
mod store;

pub(crate) use conversation::Conversation;
pub(crate) use error::ConversationError;
pub(crate) use start::StartConversation;
pub(crate) use store::Conversations;

use std::collections::BTreeMap;

/// The label of a session that names its driver.
const DRIVER_LABEL: &str = "bowline.driver";

/// Its value for a session that the daemon drives.
const DAEMON: &str = "daemon";

/// Returns whether the labels of a session say that the daemon drives it.
pub(crate) fn is_driven(labels: &BTreeMap<String, String>) -> bool {
    labels.get(DRIVER_LABEL).is_some_and(|it| it == DAEMON)
}
