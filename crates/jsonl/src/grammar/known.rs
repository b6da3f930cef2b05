//! The members that records read, as data.

/// What is known of a value.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// It is read, or skipped, as a whole.
    Value,
    /// An object with these members.
    Object(fn() -> KnownMembers),
    /// A list of such objects.
    List(fn() -> KnownMembers),
    /// An object whose members depend on its line.
    Members(KnownMembers),
}

/// The known members of an object, by their names.
pub(crate) type KnownMembers = Vec<(&'static str, Known)>;

/// Replaces what is known of a member, or adds the member.
pub(crate) fn set_known(members: &mut KnownMembers, name: &'static str, known: Known) {
    members.retain(|(member, _)| *member != name);
    members.push((name, known));
}

/// Returns the name of the first member of a spelling, such as `"type":"text","text":`.
pub(crate) fn spelled_name(spelling: &'static str) -> &'static str {
    spelling.split('"').nth(1).unwrap_or_default()
}
