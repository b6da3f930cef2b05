//! The strings of a JSON value, with their places.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use bowline_jsonl::RawJson;

use super::content::{ContentPolicy, Mask};

/// Members whose text an agent sends in parts.
const STREAMED: [&str; 7] = [
    "delta",
    "text",
    "thinking",
    "partial_json",
    "chunk",
    "output",
    "data",
];

/// A string or a number of a JSON value.
#[derive(Debug)]
pub(super) struct StringAt<'a> {
    /// The name of the member that it is the value of, or in the value of.
    pub(super) key: &'a str,
    /// Whether it is a string that is a value, and not the name of a member.
    pub(super) is_value: bool,
    /// Its bytes in the text, without quotes.
    pub(super) raw: Range<usize>,
    /// Its characters; `None` for a number.
    pub(super) decoded: Option<Decoded<'a>>,
    /// Whether later lines may continue the text.
    pub(super) is_streamed: bool,
    /// A hash of the names above it.
    pub(super) path: u64,
    /// How it is replaced if content is removed.
    pub(super) mask: Option<Mask>,
}

/// The characters of a JSON string, and where each is in the raw text.
#[derive(Clone, Debug)]
pub(super) struct Decoded<'a> {
    pub(super) text: Cow<'a, str>,
    /// The raw offset of each byte of the text, and of its end; `None` if they are the same.
    offsets: Option<Vec<u32>>,
}

impl<'a> Decoded<'a> {
    fn new(raw: &'a str) -> Self {
        if !raw.contains('\\') {
            let text = Cow::Borrowed(raw);
            return Self {
                text,
                offsets: None,
            };
        }
        let (mut text, mut offsets) = (String::new(), Vec::new());
        let mut at = 0;
        while at < raw.len() {
            let (char, length) = first_char(raw.get(at..).unwrap_or_default());
            text.push(char);
            offsets.extend(std::iter::repeat_n(at as u32, char.len_utf8()));
            at += length;
        }
        offsets.push(raw.len() as u32);
        Self {
            text: text.into(),
            offsets: Some(offsets),
        }
    }

    /// Returns the raw bytes of a range of the text, in a text in which the string begins at `start`.
    pub(super) fn raw(&self, range: Range<usize>, start: usize) -> Range<usize> {
        let at = |offset: usize| {
            let raw = self.offsets.as_ref().map(|it| it[offset] as usize);
            start + raw.unwrap_or(offset)
        };
        at(range.start)..at(range.end)
    }

    pub(super) fn to_owned(&self) -> Decoded<'static> {
        Decoded {
            text: Cow::Owned(self.text.clone().into_owned()),
            offsets: self.offsets.clone(),
        }
    }
}

/// Returns the first character of a valid JSON string, and its raw length. A surrogate pair is two
/// replacement characters.
fn first_char(raw: &str) -> (char, usize) {
    let mut chars = raw.chars();
    let first = chars.next().unwrap_or_default();
    if first != '\\' {
        return (first, first.len_utf8());
    }
    match chars.next().unwrap_or_default() {
        'n' => ('\n', 2),
        'r' => ('\r', 2),
        't' => ('\t', 2),
        'b' => ('\u{8}', 2),
        'f' => ('\u{c}', 2),
        'u' => {
            let code = raw
                .get(2..6)
                .and_then(|hex| u32::from_str_radix(hex, 16).ok());
            let char = code.and_then(char::from_u32);
            (char.unwrap_or(char::REPLACEMENT_CHARACTER), 6)
        }
        other => (other, 1 + other.len_utf8()),
    }
}

/// Returns a hash of the ids in a line by which an agent tells apart what it streams.
pub(super) fn ids(json: RawJson<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash_ids(json, &mut hasher);
    hasher.finish()
}

fn hash_ids(json: RawJson<'_>, hasher: &mut DefaultHasher) {
    for (key, value) in json.members() {
        let key = key.decode();
        let is_id = key.ends_with("_id") || key.ends_with("Id") || key == "index";
        if is_id {
            (&*key, value.text()).hash(hasher);
        } else if matches!(
            &*key,
            "event" | "params" | "update" | "msg" | "message" | "delta"
        ) {
            hash_ids(value, hasher);
        }
    }
}

/// Calls `on_string` for each string, name and number of a valid JSON text, in order.
pub(super) fn visit<'a>(
    text: &'a str,
    policy: &ContentPolicy,
    on_string: &mut impl FnMut(&StringAt<'a>),
) {
    let mut walk = Walk {
        text,
        at: 0,
        on_string,
    };
    walk.value("", 0, policy.clone());
}

struct Walk<'a, 'f, F> {
    text: &'a str,
    at: usize,
    on_string: &'f mut F,
}

impl<'a, F: FnMut(&StringAt<'a>)> Walk<'a, '_, F> {
    /// Passes over a value. Depth is bounded by the parser that found the text valid.
    fn value(&mut self, key: &'a str, path: u64, policy: ContentPolicy) {
        self.space();
        match self.peek() {
            b'{' => self.object(path, &policy),
            b'[' => {
                self.at += 1;
                while self.has_more(b']') {
                    self.value(key, path, policy.clone());
                }
            }
            b'"' => {
                let raw = self.string();
                let decoded = Decoded::new(self.text.get(raw.clone()).unwrap_or_default());
                let mask = policy.mask_of_value(key, &decoded.text);
                self.found(key, path, raw, Some(decoded), mask, true);
            }
            _ => {
                let begin = self.at;
                while !matches!(
                    self.peek(),
                    b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r' | 0
                ) {
                    self.at += 1;
                }
                let raw = begin..self.at;
                let mask =
                    policy.mask_of_number(key, self.text.get(raw.clone()).unwrap_or_default());
                self.found(key, path, raw, None, mask, true);
            }
        }
    }

    fn object(&mut self, path: u64, policy: &ContentPolicy) {
        self.at += 1;
        while self.has_more(b'}') {
            self.space();
            let raw = self.string();
            let key = self.text.get(raw.clone()).unwrap_or_default();
            let decoded = Decoded::new(key);
            let mask = policy.mask_of_name(&decoded.text);
            self.found(key, path, raw, Some(decoded), mask, false);
            self.space();
            self.at += 1; // the colon
            let mut hasher = DefaultHasher::new();
            (path, key).hash(&mut hasher);
            self.value(key, hasher.finish(), policy.within(key));
        }
    }

    fn found(
        &mut self,
        key: &'a str,
        path: u64,
        raw: Range<usize>,
        decoded: Option<Decoded<'a>>,
        mask: Option<Mask>,
        is_value: bool,
    ) {
        (self.on_string)(&StringAt {
            key,
            is_value: is_value && decoded.is_some(),
            is_streamed: is_value && STREAMED.contains(&key),
            raw,
            decoded,
            path,
            mask,
        });
    }

    /// Passes over a comma; returns `false` after the end of an object or array.
    fn has_more(&mut self, end: u8) -> bool {
        self.space();
        match self.peek() {
            b',' => {
                self.at += 1;
                true
            }
            byte if byte == end || byte == 0 => {
                self.at += 1;
                false
            }
            _ => true,
        }
    }

    /// Passes over a string. Returns its bytes without quotes.
    fn string(&mut self) -> Range<usize> {
        self.at += 1;
        let begin = self.at;
        loop {
            match self.peek() {
                b'"' | 0 => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let raw = begin..self.at;
        self.at += 1;
        raw
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Returns the next byte; 0 at the end.
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }
}
