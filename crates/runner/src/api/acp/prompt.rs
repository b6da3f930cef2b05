//! Prompts.

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResource, EmbeddedResourceResource, Error,
};
use bowline_jsonl::{PromptPart, Source};

/// Converts the content of a prompt. A resource becomes text that names its URI, since not every agent takes
/// resources.
///
/// # Errors
///
/// The prompt is empty, or a part is of a kind that is not offered.
pub(super) fn parts(prompt: Vec<ContentBlock>) -> Result<Vec<PromptPart>, Error> {
    if prompt.is_empty() {
        return Err(Error::invalid_params().data("the prompt is empty"));
    }
    prompt.into_iter().map(part).collect()
}

fn part(block: ContentBlock) -> Result<PromptPart, Error> {
    match block {
        ContentBlock::Text(text) => Ok(PromptPart::Text(text.text)),
        ContentBlock::Image(image) => Ok(PromptPart::Image(Source::Base64 {
            media_type: image.mime_type,
            data: image.data,
        })),
        ContentBlock::ResourceLink(link) => {
            Ok(PromptPart::Text(format!("[@{}]({})", link.name, link.uri)))
        }
        ContentBlock::Resource(resource) => Ok(resource_part(resource)),
        ContentBlock::Audio(_) => Err(Error::invalid_params().data("audio is not supported")),
        _ => Err(Error::invalid_params().data("a part of the prompt has an unknown type")),
    }
}

fn resource_part(resource: EmbeddedResource) -> PromptPart {
    match resource.resource {
        EmbeddedResourceResource::TextResourceContents(text) => PromptPart::Text(format!(
            "[@{name}]({uri})\n<context ref=\"{uri}\">\n{text}\n</context>",
            name = file_name(&text.uri),
            uri = text.uri,
            text = text.text
        )),
        EmbeddedResourceResource::BlobResourceContents(blob) => {
            let media_type = blob.mime_type.unwrap_or_default();
            let source = Source::Base64 {
                media_type: media_type.clone(),
                data: blob.blob,
            };
            match &*media_type {
                image if image.starts_with("image/") => PromptPart::Image(source),
                "application/pdf" => PromptPart::Document {
                    source,
                    title: Some(file_name(&blob.uri).to_owned()),
                },
                _ => PromptPart::Text(format!("[@{}]({})", file_name(&blob.uri), blob.uri)),
            }
        }
        _ => PromptPart::Text(String::new()),
    }
}

fn file_name(uri: &str) -> &str {
    uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or(uri)
}
