//! The receive path, from a readable descriptor to a change in a transcript, in comparison with a
//! bare loop of read(2) on the same writer.
//!
//! Sessions are real: children on pipes, started by `DialogueSession::start`. Their output is
//! written by another process, this program in one of its [`Role`]s.

mod agent;
mod fleet;
mod flood;
mod idle;
mod line;
mod producer;
mod status;
mod steady;
mod whole;

pub use fleet::{Fleet, Received};
pub use flood::{Flooded, Reader, flood};
pub use idle::{Idle, idle, short_dialogue};
pub use producer::Role;
pub use steady::{Steady, steady};
pub use whole::{Whole, whole};

use tokio::runtime::{Builder, Runtime};

/// Creates a current-thread runtime, so that no other thread works for a session.
///
/// # Panics
///
/// Panics if the system refuses to create a reactor.
#[must_use]
pub fn one_reactor() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a reactor can be created")
}
