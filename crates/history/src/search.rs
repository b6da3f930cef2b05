//! Text in the prompts and answers of a conversation.

use bowline_jsonl::RawJson;
use memchr::memmem::Finder;

use crate::conversation::Conversation;
use crate::file::read;
use crate::lines::{Lines, parse};

/// A text that is searched for, in any case.
#[derive(Debug)]
pub(crate) struct Search {
    text: String,
    /// Finds the text in the bytes of a file, with ASCII in lower case; `None` if a JSON string may spell
    /// the text differently.
    bytes: Option<Finder<'static>>,
}

impl Search {
    /// Returns `None` for an empty text, which is everywhere.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        let bytes = text
            .bytes()
            .all(is_plain)
            .then(|| Finder::new(&text).into_owned());
        (!text.is_empty()).then_some(Self { text, bytes })
    }

    /// Returns whether the text is in the title, a prompt or an answer. A file that cannot be read has
    /// only a title.
    pub(crate) fn is_in(&self, conversation: &Conversation) -> bool {
        let title = conversation.title.as_deref().unwrap_or_default();
        title.to_lowercase().contains(&self.text)
            || read(&conversation.path).is_ok_and(|data| self.is_in_lines(data))
    }

    fn is_in_lines(&self, mut data: Vec<u8>) -> bool {
        let is_match = |line: &[u8]| {
            let texts = parse(line).map(texts).unwrap_or_default();
            texts
                .iter()
                .any(|text| text.to_lowercase().contains(&self.text))
        };
        match &self.bytes {
            // The members' names in lower case are those that are read.
            Some(bytes) => {
                data.make_ascii_lowercase();
                Lines(&data).with(bytes).any(is_match)
            }
            None => data.split(|&byte| byte == b'\n').any(is_match),
        }
    }
}

/// The texts of a message: of Claude Code's `message`, or of Codex' `payload`.
fn texts(line: RawJson<'_>) -> Vec<String> {
    let message = line.get("message").or_else(|| line.get("payload"));
    let content = message.and_then(|it| it.get("content").or_else(|| it.get("message")));
    let Some(content) = content else {
        return Vec::new();
    };
    let whole = content.as_str();
    let parts = content
        .elements()
        .filter_map(|part| part.get("text")?.as_str());
    parts
        .chain(whole)
        .map(|text| text.decode().into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_found_in_messages_only() {
        let file = concat!(
            r#"{"type":"user","message":{"role":"user","content":"Mend the \"Sail\""},"toolUseResult":"anchor"}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Größe\nund"}]}}"#,
            "\n",
            r#"{"type":"response_item","payload":{"type":"message","content":[{"type":"output_text","text":"Ahoy"}]}}"#,
        );
        let finds = |text: &str| Search::new(text).unwrap().is_in_lines(file.into());
        for found in [
            "sail",
            "MEND the",
            "\"sail\"",
            "GRÖSSE".to_lowercase().as_str().replace("ss", "ß").as_str(),
            "e\nu",
            "ahoy",
        ] {
            assert!(finds(found), "{found}");
        }
        for absent in ["anchor", "role", "mend sail"] {
            assert!(!finds(absent), "{absent}");
        }
        assert!(Search::new("").is_none());
    }
}
