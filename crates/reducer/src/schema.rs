//! Versions of the JSON schema.

/// Version of the JSON schema that is current.
pub const SCHEMA: u32 = Schema::Two.number();

/// A version of the JSON schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Schema {
    /// The first: what Claude Code's stream says, and no more.
    One,
    /// Schema 1 and the neutral fields; none is renamed or removed.
    #[default]
    Two,
}

impl Schema {
    /// Returns its number, as in the member `schema`.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// Returns the version with this number, if there is one.
    #[must_use]
    pub const fn of_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            _ => None,
        }
    }
}
