//! Tokens of pages: named tokens that a login by a link makes. `bowline token` lists and removes them as any other.

use super::named::{NamedTokenError, NamedTokens, TokenScope};
use super::token::random_secret;

/// What the names of these tokens begin with.
const PREFIX: &str = "page-";

/// Maximum number of pages that are logged in. The oldest one is logged out for a new one.
const MAX_PAGES: usize = 32;

/// Makes a token for a page, and returns its secret.
///
/// # Errors
///
/// Fails if the file of the tokens cannot be read or written.
pub(crate) fn make_page_token(
    tokens: &NamedTokens,
    now_ms: u64,
) -> Result<String, NamedTokenError> {
    let mut pages = tokens.list()?;
    pages.retain(|it| it.name.starts_with(PREFIX));
    pages.sort_by_key(|it| it.created_ms);
    let excess = pages.len().saturating_sub(MAX_PAGES - 1);
    for page in pages.drain(..excess) {
        match tokens.remove(&page.name) {
            Ok(()) | Err(NamedTokenError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let random: String = random_secret()?.chars().take(8).collect();
    tokens.add(&format!("{PREFIX}{random}"), TokenScope::Own, now_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_page_is_logged_out_and_other_tokens_stay() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = NamedTokens::beside(&folder.path().join("token"));
        tokens.add("laptop", TokenScope::Look, 0).unwrap();
        for now_ms in 1..=MAX_PAGES as u64 + 3 {
            make_page_token(&tokens, now_ms).unwrap();
        }
        let kept = tokens.list().unwrap();
        assert_eq!(kept.len(), MAX_PAGES + 1);
        assert_eq!(kept[0].name, "laptop");
        assert_eq!(kept[1].created_ms, 4);
    }
}
