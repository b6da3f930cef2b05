//! The host of a URL, and patterns of hosts.

use super::pattern::{self, Strictness};

/// Returns the host of a URL of HTTP, in lower case; `None` for what different parsers may read differently.
pub(super) fn host_of(url: &str) -> Option<String> {
    let is_plain = |it: char| it.is_ascii_graphic() && !matches!(it, '\\' | '"' | '<' | '>' | '`');
    if !url.chars().all(is_plain) {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(&*scheme.to_ascii_lowercase(), "http" | "https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    // Credentials have no use here, and make one host look like another.
    if authority.contains(['@', '%']) {
        return None;
    }
    let host = if authority.starts_with('[') {
        authority.split_inclusive(']').next()?
    } else {
        authority.split(':').next()?
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

/// Returns whether a pattern, such as `docs.rs` or `*.example.com`, matches a host.
pub(super) fn matches(pattern: &str, host: &str) -> bool {
    pattern::matches(pattern, host, Strictness::Loose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_found() {
        let is = |url: &str, host: &str| assert_eq!(host_of(url).as_deref(), Some(host), "{url}");
        is("https://Docs.RS/x?y#z", "docs.rs");
        is("http://localhost:8080", "localhost");
        is("http://[::1]:80/", "[::1]");
        is("https://a.example.com.", "a.example.com");
        is("https://a.com?x=@b.com", "a.com");
    }

    #[test]
    fn ambiguous_url_has_no_host() {
        for url in [
            "docs.rs",
            "//docs.rs",
            "ftp://docs.rs",
            "https://",
            "https://docs.rs@evil.com",
            "https://docs.rs\\@evil.com",
            "https://evil.com\\.docs.rs",
            "https://docs%2ers",
            "https://docs.rs evil",
            "https://d\u{f6}cs.rs",
            "https://docs.rs\n",
            "file:///etc/passwd",
        ] {
            assert_eq!(host_of(url), None, "{url}");
        }
    }

    #[test]
    fn pattern_of_subdomains_is_no_suffix() {
        assert!(matches("*.docs.rs", "a.docs.rs") && matches("docs.rs", "docs.rs"));
        assert!(!matches("*.docs.rs", "docs.rs") && !matches("*.docs.rs", "evildocs.rs"));
    }
}
