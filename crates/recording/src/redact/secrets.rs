//! Finds secrets in text: by their form, by the name before them, and by their value.

use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use regex_lite::Regex;

/// Shortest value of an environment variable that is searched for. Shorter ones occur by chance.
const MIN_VALUE: usize = 8;

/// Ends of names whose values are secret, without separators and in lower case.
const SECRET_NAMES: [&str; 15] = [
    "apikey",
    "accesskey",
    "accesskeyid",
    "secretkey",
    "privatekey",
    "signingkey",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "cookie",
    "credential",
    "credentials",
];

/// Tokens that are recognized by their form.
const TOKENS: &str = concat!(
    r"\b(?:(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}",
    r"|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}",
    r"|gh[pousr]_[A-Za-z0-9]{16,}",
    r"|github_pat_[A-Za-z0-9_]{16,}",
    r"|glpat-[A-Za-z0-9_-]{16,}",
    r"|xox[a-z]-[A-Za-z0-9-]{10,}",
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"|AIza[A-Za-z0-9_-]{30,}",
    r"|ya29\.[A-Za-z0-9_-]{16,}",
    r"|npm_[A-Za-z0-9]{30,}",
    r"|hf_[A-Za-z0-9]{20,}",
    r"|pypi-[A-Za-z0-9_-]{16,}",
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r")",
);

/// Private keys in PEM, also within escaped text, and one that is cut.
const PRIVATE_KEY: &str =
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)";

/// Headers with credentials. The quotes are those of JSON and of shells, escaped any number of times.
const HEADERS: &str =
    r#"(?i)\b(?:authorization|cookie|x-api-key)[\\"']*\s*[:=]\s*[\\"']*([^"'\\\r\n]+)"#;

/// Credentials of a header without its name.
const SCHEMES: &str = r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9_.+/=~-]{8,})";

/// The user information of a URL, if it has a password or is as long as a token.
const URLS: &str =
    r#"[A-Za-z][A-Za-z0-9+.-]*:(?:\\*/){2}([^\s/@"'\\:<>]*:[^\s/@"'\\<>]+|[^\s/@"'\\:<>]{12,})@"#;

/// A name of a secret with its value, as in environments, JSON, YAML, URLs and arguments.
const ASSIGNMENTS: &str = concat!(
    r"(?i)(?:api[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?key|private[_-]?key|signing[_-]?key|[a-z0-9]_key",
    r"|secret|token|password|passwd|passphrase|credentials?)",
    r#"(?:[\\"']*\s*[:=]\s*|\s+(?:=\s*)?[\\"']*)[\\"']*([^\s"'\\,;&<>(){}\[\]]{6,})"#,
);

/// A pattern, and what each text with a match contains, in lower case.
struct Pattern {
    regex: Regex,
    needs: &'static [&'static str],
    /// Whether the match may be prose: `basic principles` are words, and so is `token budget`.
    is_guess: bool,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let tokens = &[
        "sk-",
        "pk-",
        "rk-",
        "k_",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "xox",
        "akia",
        "asia",
        "aiza",
        "ya29.",
        "npm_",
        "hf_",
        "pypi-",
        "sg.",
        "eyj",
    ];
    let names = &[
        "key",
        "secret",
        "token",
        "passw",
        "passphrase",
        "credential",
    ];
    let patterns: [(&str, &[&str], bool); 6] = [
        (TOKENS, tokens, false),
        (PRIVATE_KEY, &["private key"], false),
        (HEADERS, &["authorization", "cookie", "x-api-key"], false),
        (URLS, &["@"], false),
        (ASSIGNMENTS, names, true),
        (SCHEMES, &["bearer", "basic"], true),
    ];
    let compiled = patterns.map(|(pattern, needs, is_guess)| Pattern {
        regex: Regex::new(pattern).expect("the patterns are constants, which a test compiles"),
        needs,
        is_guess,
    });
    compiled.into()
});

/// The secrets to find. Those with a known form or name are always found.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Vec<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets")
            .field("values", &self.values.len())
            .finish()
    }
}

impl Secrets {
    /// Also finds the values of environment variables whose names say that they are secret.
    #[must_use]
    pub fn with_environment(self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let is_secret = |(name, _): &(String, String)| {
            Self::is_secret_name(name) || name.to_ascii_uppercase().ends_with("_KEY")
        };
        let variables = variables.into_iter().filter(is_secret);
        variables.fold(self, |all, (_, value)| all.with_value(value))
    }

    /// Also finds a value, such as the token of a runner. One of less than 8 bytes is ignored.
    #[must_use]
    pub fn with_value(mut self, value: impl Into<String>) -> Self {
        let value = value.into();
        if value.len() >= MIN_VALUE {
            self.values.push(value);
        }
        self
    }

    /// Returns whether the value of something with this name is secret.
    #[must_use]
    pub fn is_secret_name(name: &str) -> bool {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let name: String = letters.map(|char| char.to_ascii_lowercase()).collect();
        SECRET_NAMES.iter().any(|it| name.ends_with(it))
    }

    /// Returns the places of secrets in a text, as ranges of bytes. They may overlap.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if text.len() < MIN_VALUE {
            return found;
        }
        for value in &self.values {
            let matches = text.match_indices(value.as_str());
            found.extend(matches.map(|(at, it)| at..at + it.len()));
        }
        let lower = text.to_ascii_lowercase();
        let patterns = PATTERNS.iter();
        for pattern in patterns.filter(|it| it.needs.iter().any(|need| lower.contains(need))) {
            for captures in pattern.regex.captures_iter(text) {
                let secret = captures.get(1).or_else(|| captures.get(0));
                let Some(secret) = secret else { continue };
                if !pattern.is_guess || !is_word(secret.as_str()) {
                    found.push(secret.range());
                }
            }
        }
        found
    }
}

/// Returns whether a private key in PEM (RFC 7468) begins on a line and does not end there.
pub(super) fn begins_key(line: &[u8]) -> bool {
    has(line, b"-----BEGIN ") && has(line, b"PRIVATE KEY-----") && !is_key_end(line)
}

/// Returns whether a private key ends on a line.
pub(super) fn is_key_end(line: &[u8]) -> bool {
    has(line, b"-----END ")
}

/// Returns whether a line can follow the first one of a private key: base64, a header (RFC 1421), empty, or its end.
pub(super) fn is_key_line(line: &[u8]) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let is_header = line.starts_with(b"Proc-Type:") || line.starts_with(b"DEK-Info:");
    is_header || is_key_end(line) || line.iter().all(is_base64)
}

fn has(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|it| it == part)
}

/// Returns whether a text is lower-case letters, as a word of prose or of a type.
fn is_word(text: &str) -> bool {
    let text = text.trim_end_matches(['.', '!', '?', ':']);
    let mut chars = text.chars();
    chars.next().is_some_and(|char| char.is_ascii_alphabetic())
        && chars.all(|char| char.is_ascii_lowercase() || char == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for range in Secrets::default().find(text) {
            bytes[range].fill(b'*');
        }
        String::from_utf8(bytes).expect("ranges of characters")
    }

    #[test]
    fn secrets_are_found_by_form_and_name() {
        for (text, expected) in [
            (
                "key sk-ant-api03-abcdefghijkl.",
                "key *************************.",
            ),
            (
                "export FOO_API_KEY=\"hunter2hunter2\"",
                "export FOO_API_KEY=\"**************\"",
            ),
            (
                "curl -H 'Authorization: Bearer abc.def'",
                "curl -H 'Authorization: **************'",
            ),
            (
                "clone https://me:pass@host/x",
                "clone https://*******@host/x",
            ),
            (
                "{\\\"password\\\": \\\"Sw0rdfish\\\"}",
                "{\\\"password\\\": \\\"*********\\\"}",
            ),
            (
                "run --token 0123456789ab --fast",
                "run --token ************ --fast",
            ),
            (
                "https://x/?access_token=ab12cd34&y=1",
                "https://x/?access_token=********&y=1",
            ),
            ("with Basic dXNlcjpwYXNz now", "with Basic ************ now"),
        ] {
            assert_eq!(masked(text), expected);
        }
    }

    #[test]
    fn prose_and_ids_stay() {
        for text in [
            "the token budget was exceeded",
            "a task-notification-of-some-length came",
            "basic principles of the password manager",
            "toolu_01A09q90qw90lq917835lq9 and msg_01XFDUDYJgAACzvnptvVoYEL",
            "https://git@github.com/owner/name",
            "fn password(&self) -> String",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn values_of_secret_variables_are_found_anywhere() {
        let variables = [
            ("MY_TOKEN", "plain words"),
            ("HOME", "/home/user"),
            ("SHORT_KEY", "ab"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secrets = Secrets::default().with_environment(variables);
        let text = "some plain words in /home/user, ab";
        let found = secrets.find(text);
        assert_eq!((found.len(), found.first()), (1, Some(&(5..16))));
        assert_eq!(format!("{secrets:?}"), "Secrets { values: 1 }");
    }
}
