//! Ids of records: their numbers, in types of their own.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Serialize, Serializer};

use crate::store::RecordKey;

macro_rules! id {
    ($(#[$doc:meta])* $vis:vis $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(NonZeroU32);

        impl $name {
            // Stores the number plus one, so that an `Option` of an id takes no more space.
            pub(crate) const fn new(number: u32) -> Self {
                Self(NonZeroU32::MIN.saturating_add(number))
            }

            /// Returns the number. It is not reused for any other record of the transcript.
            #[must_use]
            $vis const fn number(self) -> u32 {
                self.0.get() - 1
            }

            pub(crate) const fn index(self) -> usize {
                self.number() as usize
            }

        }

        impl RecordKey for $name {
            #[inline]
            fn index(self) -> usize {
                self.number() as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.number()).finish()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u32(self.number())
            }
        }
    };
}

id! {
    /// Identifies an entry. Ids grow in the order of the entries. See
    /// [`Entry::id`](crate::Entry::id).
    pub EntryId
}
id! {
    /// Identifies a block. Ids grow in the order of the blocks of an entry. See
    /// [`Block::id`](crate::Block::id).
    pub BlockId
}
id! {
    /// Identifies a tool call. Ids grow in the order of announcement. See
    /// [`ToolCall::call_id`](crate::ToolCall::call_id).
    pub CallId
}
id! {
    /// Identifies a thread: the main one, or that of a sub-agent. See
    /// [`Thread::id`](crate::Thread::id).
    pub ThreadId
}
id! {
    /// Identifies a task. See [`Task::task_id`](crate::Task::task_id).
    pub TaskId
}
id! {
    /// Identifies a permission request. See
    /// [`Permission::permission_id`](crate::Permission::permission_id).
    pub PermissionId
}

id! {
    /// Identifies a tool result.
    pub(crate) ResultId
}

impl PermissionId {
    pub(crate) const MIN: Self = Self::new(0);
}

impl ThreadId {
    pub(crate) const MAIN: Self = Self::new(0);
}
