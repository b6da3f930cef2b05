//! Conversations: the dialogue sessions that this daemon drives.
//!
//! A conversation is a session that was started here by the name of its agent. The daemon is a host like others
//! of its shim: it drives the agent with the state machine of `bowline-lifecycle`, and no other host writes the
//! agent's lines. REST, ACP and other faces submit intents: a prompt, an answer, an interrupt. Each intent is a
//! line with an id, which is appended to the session's control stream before it takes effect, and takes effect
//! when it comes back from there. What became of it is a line of the stream as well, which answers the hosts that
//! are not clients of this API.
//!
//! The daemon keeps no state of its own. After a restart it folds output, input and control again, in their
//! order, and writes what is missing; the shim ignores a line whose id it knows. What a conversation was about is kept
//! in its folder when it ends, so that lists need no fold of it.
//!
//! | module | contents |
//! |---|---|
//! | `activity` | what one is about and does, for lists |
//! | `store` | the conversations that are driven: start, attach, restore |
//! | `conversation` | the handle of one |
//! | `driver` | the task of one: the control stream, and the outcome of each intent |
//! | `recover` | folds the log of one |
//! | `start` | what one is started from |

mod activity;
mod control_link;
mod conversation;
mod driver;
mod error;
mod recover;
mod start;
mod store;

pub(crate) use activity::activity_of;
pub(crate) use conversation::Conversation;
pub(crate) use error::ConversationError;
pub(crate) use start::StartConversation;
pub(crate) use store::Conversations;

pub(crate) use bowline_lifecycle::control::is_driven;
