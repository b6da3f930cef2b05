//! The parts of a prompt: its text, and the images that it names.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bowline_lifecycle::{Prompt, PromptPart, Source};

/// Maximum size of an image in bytes, as the API accepts.
const MAX_IMAGE: u64 = 5 << 20;

/// Media types by the extension of a file.
const IMAGES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// Returns the prompt of a text, and what to tell the user about its images. Images are attached if the agent
/// accepts them; their paths stay in the text.
pub(super) fn prompt(text: &str, cwd: &Path, takes_images: bool) -> (Prompt, Vec<String>) {
    let (mut prompt, mut notes) = (Prompt::text(text), Vec::new());
    for (path, media_type) in images(text, cwd) {
        let name = path.display();
        if !takes_images {
            notes.push(format!(
                "{name} is sent as a path: this agent takes no images"
            ));
            continue;
        }
        match read(&path) {
            Ok(data) => {
                let source = Source::Base64 {
                    media_type: media_type.to_owned(),
                    data,
                };
                prompt.parts.push(PromptPart::Image(source));
                notes.push(format!("{name} is attached"));
            }
            Err(why) => notes.push(format!("{name} is sent as a path: {why}")),
        }
    }
    (prompt, notes)
}

fn read(path: &Path) -> Result<String, String> {
    let length = std::fs::metadata(path)
        .map_err(|error| error.to_string())?
        .len();
    if length > MAX_IMAGE {
        let limit = MAX_IMAGE >> 20;
        return Err(format!("it is larger than {limit} MiB; make it smaller"));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    Ok(STANDARD.encode(bytes))
}

/// Returns the paths in a text that are images, with their media types.
fn images(text: &str, cwd: &Path) -> Vec<(PathBuf, &'static str)> {
    let words = words(text).into_iter();
    let mut found = Vec::new();
    for word in words {
        let path = cwd.join(word.strip_prefix('@').unwrap_or(&word));
        let extension = path.extension().and_then(|it| it.to_str());
        let extension = extension.map(str::to_lowercase).unwrap_or_default();
        let known = IMAGES.iter().find(|(name, _)| *name == extension);
        if let Some((_, media_type)) = known
            && path.is_file()
            && found.iter().all(|(other, _)| *other != path)
        {
            found.push((path, *media_type));
        }
    }
    found
}

/// Splits a text into words, as a terminal pastes dropped files: a backslash or quotes keep a space.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None) => word.extend(chars.next()),
            ('\'' | '"', None) if word.is_empty() => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            (c, _) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|it| !it.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_images_become_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a b.PNG"), [1, 2, 3]).unwrap();
        std::fs::write(path("c.txt"), "c").unwrap();
        let text = "see @a\\ b.PNG and 'a b.PNG', c.txt, none.png";
        let (made, notes) = prompt(text, folder.path(), true);
        let source = Source::Base64 {
            media_type: "image/png".to_owned(),
            data: "AQID".to_owned(),
        };
        assert_eq!(
            made.parts,
            [PromptPart::Text(text.to_owned()), PromptPart::Image(source)]
        );
        assert_eq!(notes.len(), 1);
        let (made, notes) = prompt(text, folder.path(), false);
        assert_eq!(made.parts.len(), 1);
        assert!(
            notes[0].ends_with("this agent takes no images"),
            "{notes:?}"
        );
    }

    #[test]
    fn too_large_image_stays_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(folder.path().join("x.gif")).unwrap();
        file.set_len(MAX_IMAGE + 1).unwrap();
        let (made, notes) = prompt("x.gif", folder.path(), true);
        assert_eq!(made.parts.len(), 1);
        assert!(notes[0].contains("larger than 5 MiB"), "{notes:?}");
    }
}
