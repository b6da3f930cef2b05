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
    /// A list or an object with any names, of such values.
    Each(Box<Self>),
}

/// The known members of an object, by their names.
pub(crate) type KnownMembers = Vec<(&'static str, Known)>;

/// Returns what is known of a value: what the paths to its members say. An empty one says that it is known as a whole.
pub(crate) fn known_by_paths(paths: &[&'static str]) -> Known {
    if paths.contains(&"") {
        return Known::Value;
    }
    let mut members: Vec<(&'static str, Vec<&'static str>)> = Vec::new();
    for path in paths {
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        match members.iter_mut().find(|(member, _)| *member == name) {
            Some((_, rests)) => rests.push(rest),
            None => members.push((name, vec![rest])),
        }
    }
    match &members[..] {
        [("*", rests)] => Known::Each(Box::new(known_by_paths(rests))),
        _ => {
            let known = |(name, rests): (_, Vec<_>)| (name, known_by_paths(&rests));
            Known::Members(members.into_iter().map(known).collect())
        }
    }
}

/// Replaces what is known of a member, or adds the member.
pub(crate) fn set_known(members: &mut KnownMembers, name: &'static str, known: Known) {
    members.retain(|(member, _)| *member != name);
    members.push((name, known));
}

/// Returns the name of the first member of a spelling, such as `"type":"text","text":`.
pub(crate) fn spelled_name(spelling: &'static str) -> &'static str {
    spelling.split('"').nth(1).unwrap_or_default()
}
