//! Lists and reads the conversations that agents keep on disk.
//!
//! [`History::list`] says what there is, newest first; [`History::open`] reads one as a [`Past`]: a
//! stream of lines in the agent's output format, which folds to a transcript like a live one. The
//! agents' files are never written to.
//!
//! ```no_run
//! use bowline_history::{AgentFolders, History, Query};
//!
//! let folders = AgentFolders::from_environment(|name| std::env::var_os(name));
//! let history = History::new(folders);
//! let listing = history.list(&Query { limit: Some(10), ..Query::default() })?;
//! for conversation in &listing.conversations {
//!     println!("{} {:?}", conversation.id, conversation.title);
//! }
//! let past = history.open("4ede0ec4")?;
//! println!("{} entries", past.transcript().entries().count());
//! # Ok::<(), bowline_history::HistoryError>(())
//! ```
//!
//! # What a conversation is
//!
//! Claude Code's file is a tree; a [`Past`] has the branch that ends with the last leaf. Compactions
//! are notices, and what came before them stays. The transcripts of sub-agents are in files of their
//! own and appear in the call that started them. Prompts that were queued during a turn are prompts.
//! Codex' file is a list; its sub-agents are rollouts of their own.
//!
//! # Cost
//!
//! A list reads each file once; with [`History::with_index`], again only after its size or modification
//! time changed. Opening a conversation reads its file and those of its sub-agents.

mod agent;
mod claude;
mod codex;
mod conversation;
mod error;
mod file;
mod history;
mod index;
mod lines;
mod parallel;
mod past;
mod search;
mod stream;
mod walk;

pub use agent::{Agent, AgentFolders};
pub use conversation::Conversation;
pub use error::{HistoryError, Problem};
pub use history::{History, Listing, Query};
pub use past::Past;
