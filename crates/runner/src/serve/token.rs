//! The token that opens the daemon, on disk and in memory.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Bytes of randomness in a token: 256 bits, so that nobody guesses it.
pub(crate) const ENTROPY: usize = 32;

/// The longest file that is taken for a token, in bytes.
const LONGEST: u64 = 4096;

/// The shortest token that is taken: 128 bits in hexadecimal.
const SHORTEST: usize = 32;

/// A token as the daemon keeps it: its SHA-256, which opens nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of a token's text.
    #[must_use]
    pub(crate) fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Whether this is the hash of what is shown. Takes as long for a wrong one.
    #[must_use]
    pub(crate) fn is_of(&self, shown: &[u8]) -> bool {
        Self::of(shown).0.ct_eq(&self.0).into()
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(***)")
    }
}

/// Why a token file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be made, opened or read.
    #[error("use the token file {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Somebody else than its owner can read it.
    #[error(
        "use the token file {path}: others can read it (mode {mode:04o}), run `chmod 600 {path}` and make a new token if they may have"
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It belongs to somebody else.
    #[error("use the token file {path}: it belongs to user {owner}, give one of your own")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// What it holds is no token.
    #[error(
        "use the token file {path}: it holds no token of at least 32 plain characters, remove it and a new one is made"
    )]
    Unusable {
        /// The file.
        path: PathBuf,
    },
    /// The system has no randomness.
    #[error("make a token: {0}")]
    Random(String),
}

/// Reads the token of a file; makes file and token when there is none: 256 random bits, mode 0600.
///
/// # Errors
///
/// Others can read the file or own it, it holds no token, or it cannot be made.
pub fn read_or_create_token(path: &Path) -> Result<String, TokenError> {
    let wrong = |source| TokenError::File {
        path: path.to_owned(),
        source,
    };
    let mut create = OpenOptions::new();
    match create.write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => fill(file, path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read(File::open(path).map_err(wrong)?, path)
        }
        Err(error) => Err(wrong(error)),
    }
}

fn fill(mut file: File, path: &Path) -> Result<String, TokenError> {
    let token = random()?;
    let written = file.write_all(format!("{token}\n").as_bytes());
    written
        .and_then(|()| file.sync_all())
        .map_err(|source| TokenError::File {
            path: path.to_owned(),
            source,
        })?;
    Ok(token)
}

fn read(file: File, path: &Path) -> Result<String, TokenError> {
    let wrong = |source| TokenError::File {
        path: path.to_owned(),
        source,
    };
    check_owner(&file, path)?;
    let mut text = String::new();
    let read = file.take(LONGEST).read_to_string(&mut text);
    read.map_err(wrong)?;
    let token = text.trim();
    let is_token = token.len() >= SHORTEST && token.bytes().all(|it| it.is_ascii_graphic());
    if !is_token {
        let path = path.to_owned();
        return Err(TokenError::Unusable { path });
    }
    Ok(token.to_owned())
}

fn check_owner(file: &File, path: &Path) -> Result<(), TokenError> {
    let path = path.to_owned();
    match file.metadata() {
        Err(source) => Err(TokenError::File { path, source }),
        Ok(facts) if facts.uid() != rustix::process::geteuid().as_raw() => {
            let owner = facts.uid();
            Err(TokenError::Foreign { path, owner })
        }
        Ok(facts) if facts.mode() & 0o077 != 0 => {
            let mode = facts.mode() & 0o7777;
            Err(TokenError::Exposed { path, mode })
        }
        Ok(_) => Ok(()),
    }
}

/// A new secret: 256 random bits in base64url.
pub(crate) fn random() -> Result<String, TokenError> {
    let mut bytes = [0_u8; ENTROPY];
    getrandom::fill(&mut bytes).map_err(|error| TokenError::Random(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_missing_file_is_made_private_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let made = read_or_create_token(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(URL_SAFE_NO_PAD.decode(&made).unwrap().len(), ENTROPY);
        assert_eq!(read_or_create_token(&path).unwrap(), made);
        let other = read_or_create_token(&folder.path().join("other")).unwrap();
        assert_ne!(made, other);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        read_or_create_token(&path).unwrap();
        for mode in [0o640, 0o604, 0o660, 0o601, 0o644] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let error = read_or_create_token(&path).unwrap_err();
            assert!(
                matches!(error, TokenError::Exposed { .. }),
                "{mode:o}: {error}"
            );
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        read_or_create_token(&path).unwrap();
        for text in ["", "\n", "short", &"word ".repeat(20), &"\u{e9}".repeat(40)] {
            fs::write(&path, text).unwrap();
            let error = read_or_create_token(&path).unwrap_err();
            assert!(matches!(error, TokenError::Unusable { .. }), "{text:?}");
        }
        fs::write(&path, format!("  {}\n", "k".repeat(32))).unwrap();
        assert_eq!(read_or_create_token(&path).unwrap(), "k".repeat(32));
    }

    #[test]
    fn only_the_token_itself_is_known_again() {
        let token = random().unwrap();
        let hash = TokenHash::of(token.as_bytes());
        assert!(hash.is_of(token.as_bytes()));
        for wrong in [String::new(), format!("{token}0"), random().unwrap()] {
            assert!(!hash.is_of(wrong.as_bytes()));
        }
        assert_eq!(format!("{hash:?}"), "TokenHash(***)");
    }
}
