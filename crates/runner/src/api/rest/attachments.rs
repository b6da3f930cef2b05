//! Files that are attached to a prompt.

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bowline_jsonl::{Prompt, PromptPart, Source};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::problem::Problem;

/// An image, a PDF or a text of a prompt.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Attachment {
    /// `image/png`, `image/jpeg`, `image/gif`, `image/webp`, `application/pdf`, or `text/plain` in UTF-8.
    #[schema(example = "image/png")]
    media_type: String,
    /// The bytes in base64 (RFC 4648, section 4).
    #[schema(example = "iVBORw0KGgo=")]
    data: String,
    /// Title of a PDF or text.
    #[serde(default)]
    title: Option<String>,
}

/// Returns a prompt with a text, which may be empty if there are attachments. They precede it, as models read them best.
pub(super) fn prompt_with(text: String, attachments: Vec<Attachment>) -> Result<Prompt, Problem> {
    let mut parts = attachments
        .into_iter()
        .map(Attachment::part)
        .collect::<Result<Vec<_>, _>>()?;
    if !text.is_empty() || parts.is_empty() {
        parts.push(PromptPart::Text(text));
    }
    Ok(Prompt {
        parts,
        ..Prompt::default()
    })
}

impl Attachment {
    fn part(self) -> Result<PromptPart, Problem> {
        let bytes = STANDARD.decode(&self.data);
        let bytes = bytes.map_err(|_| refused("the data of an attachment is not base64"))?;
        let Self {
            media_type,
            data,
            title,
        } = self;
        match media_type.as_str() {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => {
                Ok(PromptPart::Image(Source::Base64 { media_type, data }))
            }
            "application/pdf" => Ok(PromptPart::Document {
                source: Source::Base64 { media_type, data },
                title,
            }),
            "text/plain" => {
                let text = String::from_utf8(bytes);
                let text = text.map_err(|_| refused("the text of an attachment is not UTF-8"))?;
                let source = Source::Text(text);
                Ok(PromptPart::Document { source, title })
            }
            other => Err(refused(&format!("{other} cannot be attached"))),
        }
    }
}

fn refused(detail: &str) -> Problem {
    let next = "attach images (png, jpeg, gif, webp), PDF or text; name other files by their path";
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    Problem::new(status, "ATTACHMENT_REFUSED", detail, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(media_type: &str, data: &str) -> Attachment {
        Attachment {
            media_type: media_type.to_owned(),
            data: data.to_owned(),
            title: Some("notes".to_owned()),
        }
    }

    #[test]
    fn attachments_precede_text() {
        let files = vec![
            attachment("image/png", "AAEC"),
            attachment("text/plain", "Z3LDvG4="),
        ];
        let prompt = prompt_with("look".to_owned(), files).unwrap();
        let image = Source::Base64 {
            media_type: "image/png".to_owned(),
            data: "AAEC".to_owned(),
        };
        let document = PromptPart::Document {
            source: Source::Text("grün".to_owned()),
            title: Some("notes".to_owned()),
        };
        let text = PromptPart::Text("look".to_owned());
        assert_eq!(prompt.parts, [PromptPart::Image(image), document, text]);
    }

    #[test]
    fn attachment_that_no_agent_reads_is_refused() {
        for (media_type, data) in [
            ("image/svg+xml", "AAEC"),
            ("image/png", "not base64!"),
            ("text/plain", "/w=="),
        ] {
            let refused = prompt_with(String::new(), vec![attachment(media_type, data)]);
            assert_eq!(refused.unwrap_err().code, "ATTACHMENT_REFUSED");
        }
    }
}
