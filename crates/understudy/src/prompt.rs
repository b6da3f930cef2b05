//! A prompt: its id and its blocks.

use serde_json::{Value, json};

/// A user message that is queued.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prompt {
    pub(crate) uuid: Option<String>,
    blocks: Vec<Value>,
}

impl Prompt {
    /// Returns a prompt of one text block.
    pub(crate) fn plain(text: String) -> Self {
        Self {
            uuid: None,
            blocks: vec![json!({"type": "text", "text": text})],
        }
    }

    /// Reads a `user` line.
    pub(crate) fn read(line: &Value) -> Self {
        let uuid = line["uuid"].as_str().map(str::to_owned);
        match &line["message"]["content"] {
            Value::Array(blocks) => Self {
                uuid,
                blocks: blocks.clone(),
            },
            content => {
                let text = content.as_str().unwrap_or_default().to_owned();
                Self {
                    uuid,
                    ..Self::plain(text)
                }
            }
        }
    }

    /// Returns a prompt of these blocks.
    pub(crate) fn of_blocks(uuid: Option<String>, blocks: &Value) -> Self {
        let blocks = blocks.as_array().cloned().unwrap_or_default();
        Self { uuid, blocks }
    }

    /// Returns the text of all text blocks.
    pub(crate) fn text(&self) -> String {
        self.blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect()
    }

    /// Returns the content as the agent echoes it: an array of blocks.
    pub(crate) fn content(&self) -> Value {
        Value::Array(self.blocks.clone())
    }

    /// Merges prompts as the agent does when it echoes them, with the uuid of the last one.
    pub(crate) fn merged(prompts: &[Self]) -> Option<Self> {
        let (last, before) = prompts.split_last()?;
        let mut blocks = Vec::new();
        for prompt in before {
            blocks.extend(prompt.blocks.iter().cloned());
            if let Some(Value::String(text)) = blocks.last_mut().and_then(|b| b.get_mut("text")) {
                text.push('\n');
            }
        }
        blocks.extend(last.blocks.iter().cloned());
        Some(Self {
            uuid: last.uuid.clone(),
            blocks,
        })
    }
}
