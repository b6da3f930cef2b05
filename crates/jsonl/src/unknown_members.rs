//! Members of an object that no record reads.

use std::fmt::Write as _;

use crate::grammar::{Known, KnownMembers};
use crate::raw::RawJson;

/// Nesting up to which members are looked at: a tool result has blocks, which may have results again.
const MAX_DEPTH: usize = 16;

/// Returns the members of an object that are not known, as JSON pointers in the order of its text.
pub(crate) fn unknown_members(object: RawJson<'_>, known: &KnownMembers) -> Vec<String> {
    let mut unknown = Unknown::default();
    unknown.object(object, known, 0);
    unknown.found
}

/// Pointers to unknown members.
#[derive(Debug, Default)]
struct Unknown {
    /// The pointer to the value that is looked at.
    path: String,
    found: Vec<String>,
}

impl Unknown {
    fn value(&mut self, value: RawJson<'_>, known: &Known, depth: usize) {
        if depth == MAX_DEPTH {
            return;
        }
        match known {
            Known::Value => {}
            Known::Object(members) => self.object(value, &members(), depth),
            Known::Members(members) => self.object(value, members, depth),
            Known::List(members) => {
                let known = members();
                for (index, element) in value.elements().enumerate() {
                    let length = self.path.len();
                    // Writing to a string does not fail.
                    let _ = write!(self.path, "/{index}");
                    self.object(element, &known, depth);
                    self.path.truncate(length);
                }
            }
        }
    }

    fn object(&mut self, value: RawJson<'_>, known: &KnownMembers, depth: usize) {
        for (name, value) in value.members() {
            let name = name.decode();
            let length = self.path.len();
            self.path.push('/');
            self.path
                .push_str(&name.replace('~', "~0").replace('/', "~1"));
            match known.iter().find(|(known, _)| *known == name) {
                Some((_, known)) => self.value(value, known, depth + 1),
                None => self.found.push(self.path.clone()),
            }
            self.path.truncate(length);
        }
    }
}
