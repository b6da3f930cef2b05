//! The runner's token: the file that holds it, and the hash that requests are checked against.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::RwLock;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Random bytes in a token.
const ENTROPY_BYTES: usize = 32;

/// Maximum size of a token file, in bytes.
const MAX_FILE_BYTES: u64 = 4096;

/// Minimum length of a token: 128 bits in hexadecimal.
const MIN_TOKEN_LENGTH: usize = 32;

/// The SHA-256 of a secret, which is what the daemon keeps of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    /// Hashes a secret.
    #[must_use]
    pub(crate) fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Reads a hash in hexadecimal.
    pub(super) fn parse(hex: &str) -> Option<Self> {
        let mut hash = [0; 32];
        if hex.len() != 2 * hash.len() || !hex.is_ascii() {
            return None;
        }
        for (place, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(hex.get(2 * place..2 * place + 2)?, 16).ok()?;
        }
        Some(Self(hash))
    }

    /// Returns the hash in hexadecimal.
    pub(super) fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns whether this is the hash of `secret`, in constant time.
    #[must_use]
    pub(crate) fn matches(&self, secret: &[u8]) -> bool {
        Self::of(secret).0.ct_eq(&self.0).into()
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(***)")
    }
}

/// The token that requests are checked against, which may be replaced while they are served.
#[derive(Clone, Debug)]
pub(crate) struct CurrentToken(Arc<RwLock<TokenHash>>);

impl CurrentToken {
    /// Accepts a token.
    pub(crate) fn new(token: &str) -> Self {
        Self(Arc::new(RwLock::new(TokenHash::of(token.as_bytes()))))
    }

    /// Accepts another token from now on, and no more the present one.
    pub(crate) fn replace(&self, token: &str) {
        *self.0.write() = TokenHash::of(token.as_bytes());
    }

    /// Returns whether `secret` is the token, in constant time.
    pub(super) fn matches(&self, secret: &[u8]) -> bool {
        self.0.read().matches(secret)
    }
}

/// Why a token file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be created, opened or read.
    #[error("use the token file {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Users other than its owner can read it.
    #[error(
        "use the token file {path}: other users can read it (mode {mode:04o}); remove it to get a new token, or run `chmod 600 {path}` if none of them has read it"
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Another user owns it.
    #[error("use the token file {path}: it is owned by user {owner}; use a file of your own")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// It does not contain a valid token.
    #[error(
        "use the token file {path}: it contains no token of at least 32 printable ASCII characters; remove it to get a new token"
    )]
    Unusable {
        /// The file.
        path: PathBuf,
    },
    /// The system's random number generator failed.
    #[error("create a token: {0}")]
    Random(String),
}

/// Reads the token from a file. If the file does not exist, creates it (mode 0600) with a token of
/// 256 random bits.
///
/// # Errors
///
/// Fails if the file is owned or readable by other users, contains no valid token, or cannot be
/// created.
pub fn read_or_create_token(path: &Path) -> Result<String, TokenError> {
    let file_error = |source| TokenError::File {
        path: path.to_owned(),
        source,
    };
    let mut create = OpenOptions::new();
    match create.write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => write_new(file, path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read(File::open(path).map_err(file_error)?, path)
        }
        Err(error) => Err(file_error(error)),
    }
}

fn write_new(mut file: File, path: &Path) -> Result<String, TokenError> {
    let token = random_secret()?;
    let written = file.write_all(format!("{token}\n").as_bytes());
    let written = written.and_then(|()| file.sync_all());
    written.map_err(|source| {
        // A file without a token would be refused at the next start.
        let _ = fs::remove_file(path);
        TokenError::File {
            path: path.to_owned(),
            source,
        }
    })?;
    Ok(token)
}

fn read(file: File, path: &Path) -> Result<String, TokenError> {
    let file_error = |source| TokenError::File {
        path: path.to_owned(),
        source,
    };
    check_owner(&file, path)?;
    let mut text = String::new();
    let read = file.take(MAX_FILE_BYTES).read_to_string(&mut text);
    read.map_err(file_error)?;
    let token = text.trim();
    let is_token = token.len() >= MIN_TOKEN_LENGTH && token.bytes().all(|it| it.is_ascii_graphic());
    if !is_token {
        let path = path.to_owned();
        return Err(TokenError::Unusable { path });
    }
    Ok(token.to_owned())
}

pub(super) fn check_owner(file: &File, path: &Path) -> Result<(), TokenError> {
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

/// Returns a new secret: 256 random bits in base64url.
///
/// # Errors
///
/// Fails if the system's random number generator does.
pub(crate) fn random_secret() -> Result<String, TokenError> {
    let mut bytes = [0_u8; ENTROPY_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| TokenError::Random(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Block size of SHA-256, in bytes.
const BLOCK: usize = 64;

/// Returns the HMAC of a message with SHA-256 (RFC 2104).
pub(crate) fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK];
    let hashed: [u8; 32];
    let key = if key.len() > BLOCK {
        hashed = Sha256::digest(key).into();
        &hashed[..]
    } else {
        key
    };
    block[..key.len()].copy_from_slice(key);
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(message);
    let outer = Sha256::new().chain_update(padded(0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn missing_file_is_created_with_mode_0600() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let created = read_or_create_token(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(
            URL_SAFE_NO_PAD.decode(&created).unwrap().len(),
            ENTROPY_BYTES
        );
        assert_eq!(read_or_create_token(&path).unwrap(), created);
        let other = read_or_create_token(&folder.path().join("other")).unwrap();
        assert_ne!(created, other);
    }

    #[test]
    fn readable_by_others_is_refused() {
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
    fn invalid_token_is_refused() {
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

    /// Test cases 2 and 6 of RFC 4231.
    #[test]
    fn hmac_is_that_of_the_rfc() {
        let hex = |mac: [u8; 32]| -> String { mac.iter().map(|it| format!("{it:02x}")).collect() };
        assert_eq!(
            hex(hmac_sha256(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let message = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(
            hex(hmac_sha256(&[0xaa; 131], message)),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn hash_matches_only_its_token() {
        let token = random_secret().unwrap();
        let hash = TokenHash::of(token.as_bytes());
        assert!(hash.matches(token.as_bytes()));
        for wrong in [String::new(), format!("{token}0"), random_secret().unwrap()] {
            assert!(!hash.matches(wrong.as_bytes()));
        }
        assert_eq!(format!("{hash:?}"), "TokenHash(***)");
    }
}
