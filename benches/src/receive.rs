//! The receive path: from a readable descriptor to a change in a transcript, beside a bare loop of
//! read(2) on the same writer.
//!
//! Sessions here are real: children on pipes, started by `DialogueSession::start`. What they say is
//! written by another process, this very program in one of its [`Role`]s.

mod agent;
mod fleet;
mod flood;
mod idle;
mod line;
mod producer;
mod status;
mod steady;

pub use fleet::{Fleet, Received};
pub use flood::{Flooded, Reader, flood};
pub use idle::{Idle, idle, short_dialogue};
pub use producer::Role;
pub use steady::{Steady, steady};

use tokio::runtime::{Builder, Runtime};

/// One reactor on this thread, as the figures want it: nobody else works for a session.
///
/// # Panics
///
/// The system refuses a reactor.
#[must_use]
pub fn one_reactor() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the system gives a reactor")
}
