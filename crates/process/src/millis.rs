//! Serde representation of durations as whole milliseconds.

use std::time::Duration;

use serde::{Deserialize as _, Deserializer, Serializer};

/// Writes whole milliseconds; longer durations saturate at `u64::MAX`.
pub fn serialize<S: Serializer>(it: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(it.as_millis()).unwrap_or(u64::MAX))
}

/// Reads whole milliseconds.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}

/// The same representation for an optional duration.
pub mod option {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Millis(#[serde(with = "super")] Duration);

    /// Writes whole milliseconds, or null.
    pub fn serialize<S: Serializer>(
        it: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        it.map(Millis).serialize(serializer)
    }

    /// Reads whole milliseconds, or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Millis>::deserialize(from)?.map(|Millis(it)| it))
    }
}
