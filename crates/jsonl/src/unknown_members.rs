//! Members of an object that no record reads.

use std::fmt::Write as _;

use crate::grammar::{Known, KnownMembers, known_by_paths};
use crate::raw::RawJson;

/// Nesting up to which members are looked at: a tool result has blocks, which may have results again.
const MAX_DEPTH: usize = 16;

/// Returns the members of an object that are not known, as JSON pointers in the order of its text.
pub(crate) fn unknown_members(object: RawJson<'_>, known: &KnownMembers) -> Vec<String> {
    let mut unknown = Unknown::default();
    unknown.object(object, known, 0);
    unknown.found
}

impl RawJson<'_> {
    /// Returns the members of an object that are not known, as JSON pointers (RFC 6901) in the order of its text. A known
    /// one is given by the names up to it with `/` between them, where `*` stands for each element of a list, or each
    /// member of an object. The contents of a member whose path is given are not looked at.
    ///
    /// ```
    /// use bowline_jsonl::RawJson;
    ///
    /// let line = r#"{"type":"use","tools":[{"id":1,"input":{"a":2}},{"id":3,"name":4}],"usage":{"model":{"cost":5,"calls":6}}}"#;
    /// let line = RawJson::parse(line).unwrap();
    /// let known = ["type", "tools/*/id", "tools/*/input", "usage/*/cost"];
    /// assert_eq!(line.unknown_members(&known), ["/tools/1/name", "/usage/model/calls"]);
    /// ```
    #[must_use]
    pub fn unknown_members(self, known: &[&'static str]) -> Vec<String> {
        let mut unknown = Unknown::default();
        unknown.value(self, &known_by_paths(known), 0);
        unknown.found
    }
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
                self.elements(value, |it, element| it.object(element, &known, depth));
            }
            Known::Each(known) => {
                self.elements(value, |it, element| it.value(element, known, depth + 1));
                self.members(value, |it, _, member| it.value(member, known, depth + 1));
            }
        }
    }

    fn object(&mut self, value: RawJson<'_>, known: &KnownMembers, depth: usize) {
        self.members(value, |it, name, value| {
            match known.iter().find(|(known, _)| *known == name) {
                Some((_, known)) => it.value(value, known, depth + 1),
                None => it.found.push(it.path.clone()),
            }
        });
    }

    /// Looks at each element of a list.
    fn elements<'a>(&mut self, list: RawJson<'a>, mut look: impl FnMut(&mut Self, RawJson<'a>)) {
        for (index, element) in list.elements().enumerate() {
            let length = self.path.len();
            // Writing to a string does not fail.
            let _ = write!(self.path, "/{index}");
            look(self, element);
            self.path.truncate(length);
        }
    }

    /// Looks at each member of an object.
    fn members<'a>(
        &mut self,
        object: RawJson<'a>,
        mut look: impl FnMut(&mut Self, &str, RawJson<'a>),
    ) {
        for (name, value) in object.members() {
            let name = name.decode();
            let length = self.path.len();
            self.path.push('/');
            self.path
                .push_str(&name.replace('~', "~0").replace('/', "~1"));
            look(self, &name, value);
            self.path.truncate(length);
        }
    }
}
