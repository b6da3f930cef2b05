//! The members that records read, as data.

/// What is known of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known {
    /// It is read, or skipped, as a whole.
    Value,
    /// An object with these members.
    Object(fn() -> KnownMembers),
    /// A list of such objects.
    List(fn() -> KnownMembers),
}

/// The known members of an object, by their names.
pub(crate) type KnownMembers = Vec<(&'static str, Known)>;

/// Returns the name of the first member of a spelling, such as `"type":"text","text":`.
pub(crate) fn spelled_name(spelling: &'static str) -> &'static str {
    spelling.split('"').nth(1).unwrap_or_default()
}
