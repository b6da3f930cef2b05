//! Many sessions of both kinds, by name.

mod id;

pub use self::id::{ManagedId, NotAnId};
