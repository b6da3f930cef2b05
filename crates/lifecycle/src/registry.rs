//! The registry: every terminal of this process that holds an agent, a shell or a command.

mod inbox;
mod list;
mod metrics;
mod registration;
mod terminal;

pub use self::inbox::{Inbox, InboxEvent};
pub use self::list::{SessionPermission, TerminalRegistry};
pub(crate) use self::metrics::TokenUsage;
pub use self::metrics::{Metrics, TurnCount};
pub use self::registration::Registration;
pub(crate) use self::terminal::describe;
pub use self::terminal::{RegisteredTerminal, TerminalTag, Tombstone};
