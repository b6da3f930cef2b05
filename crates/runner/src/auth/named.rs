//! Named tokens with a scope, of which the file `tokens` has the hashes.
//!
//! A line of the file is `NAME SCOPE SHA256 CREATED_MS`. The daemon reads it again whenever it has changed, so that a
//! token that is removed is refused from then on.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::token::{TokenError, TokenHash, check_owner, random_secret};

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 64;

/// What the holder of a token may do. Each scope includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TokenScope {
    /// Read sessions, transcripts, logs and events.
    Look,
    /// Also answer permission requests.
    Answer,
    /// Also prompt, interrupt, change options, type and resize.
    Write,
    /// Also create, end and remove sessions, and make tickets: everything.
    Own,
}

impl TokenScope {
    /// All scopes, the least first.
    pub const ALL: [Self; 4] = [Self::Look, Self::Answer, Self::Write, Self::Own];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Answer => "answer",
            Self::Write => "write",
            Self::Own => "own",
        }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no such scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope {0}; use look, answer, write or own")]
pub struct UnknownScope(String);

impl FromStr for TokenScope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        let mut scopes = Self::ALL.into_iter();
        let found = scopes.find(|it| it.name() == name);
        found.ok_or_else(|| UnknownScope(name.to_owned()))
    }
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedToken {
    /// Its name.
    pub name: String,
    /// What its holder may do.
    pub scope: TokenScope,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    hash: TokenHash,
}

/// Why named tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamedTokenError {
    /// The file is unusable.
    #[error(transparent)]
    File(#[from] TokenError),
    /// A line of the file is damaged.
    #[error(
        "use the tokens in {path}: line {line} is damaged; remove it, and make that token again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The name is invalid.
    #[error(
        "{name:?} is not a name of a token; use 1 to 64 letters, digits, dots, dashes and underscores"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// There is a token with this name.
    #[error("there is a token {name}; remove it first, or use another name")]
    Exists {
        /// The name.
        name: String,
    },
    /// There is no token with this name.
    #[error("there is no token {name}; list them with `bowline token ls`")]
    NotFound {
        /// The name.
        name: String,
    },
}

/// The file with the hashes of named tokens.
///
/// ```
/// use bowline_runner::{NamedTokenError, NamedTokens, TokenScope};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let tokens = NamedTokens::at(folder.path().join("tokens"));
/// let secret = tokens.add("dashboard", TokenScope::Look, 1_700_000_000_000)?;
/// assert_eq!(secret.len(), 43);
/// assert_eq!(tokens.list()?[0].name, "dashboard");
/// tokens.remove("dashboard")?;
/// assert!(matches!(tokens.remove("dashboard"), Err(NamedTokenError::NotFound { .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct NamedTokens {
    path: PathBuf,
}

impl NamedTokens {
    /// Returns the tokens in a file, which need not exist.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the file beside a runner's token file.
    #[must_use]
    pub fn beside(token_file: &Path) -> Self {
        Self::at(token_file.with_file_name("tokens"))
    }

    /// Returns the tokens in the order in which they were made.
    ///
    /// # Errors
    ///
    /// Fails if the file is unreadable, readable by other users, or damaged.
    pub fn list(&self) -> Result<Vec<NamedToken>, NamedTokenError> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file.map_err(|error| self.failed(error))?,
        };
        check_owner(&file, &self.path)?;
        let text = io::read_to_string(file).map_err(|error| self.failed(error))?;
        let lines = text.lines().zip(1..);
        let tokens = lines.map(|(text, line)| {
            NamedToken::parse(text).ok_or_else(|| NamedTokenError::Damaged {
                path: self.path.clone(),
                line,
            })
        });
        tokens.collect()
    }

    /// Makes a token, and returns its secret, which is not kept.
    ///
    /// # Errors
    ///
    /// Fails if the name is invalid or taken, or the file cannot be read or written.
    pub fn add(
        &self,
        name: &str,
        scope: TokenScope,
        created_ms: u64,
    ) -> Result<String, NamedTokenError> {
        let is_valid = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
        if !(1..=MAX_NAME).contains(&name.len()) || !name.chars().all(is_valid) {
            let name = name.to_owned();
            return Err(NamedTokenError::Name { name });
        }
        let secret = random_secret()?;
        let token = NamedToken {
            name: name.to_owned(),
            scope,
            created_ms,
            hash: TokenHash::of(secret.as_bytes()),
        };
        self.change(|tokens| {
            if tokens.iter().any(|it| it.name == name) {
                let name = name.to_owned();
                return Err(NamedTokenError::Exists { name });
            }
            tokens.push(token);
            Ok(())
        })?;
        Ok(secret)
    }

    /// Removes a token. A running daemon refuses it from then on.
    ///
    /// # Errors
    ///
    /// Fails if there is no such token, or the file cannot be read or written.
    pub fn remove(&self, name: &str) -> Result<(), NamedTokenError> {
        self.change(|tokens| {
            let count = tokens.len();
            tokens.retain(|it| it.name != name);
            if tokens.len() == count {
                let name = name.to_owned();
                return Err(NamedTokenError::NotFound { name });
            }
            Ok(())
        })
    }

    /// Replaces the file atomically, while no other process does.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<NamedToken>) -> Result<(), NamedTokenError>,
    ) -> Result<(), NamedTokenError> {
        let _lock = self.lock().map_err(|error| self.failed(error))?;
        let mut tokens = self.list()?;
        change(&mut tokens)?;
        let text: String = tokens.iter().map(|it| format!("{it}\n")).collect();
        let replaced = self.replace(&text);
        replaced.map_err(|error| self.failed(error))
    }

    fn lock(&self) -> io::Result<File> {
        let mut open = OpenOptions::new();
        open.write(true).create(true).truncate(false).mode(0o600);
        let lock = open.open(self.path.with_extension("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let next = self.path.with_extension("next");
        let mut open = OpenOptions::new();
        open.write(true).create(true).truncate(true).mode(0o600);
        let mut file = open.open(&next)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&next, &self.path)
    }

    fn failed(&self, source: io::Error) -> NamedTokenError {
        let path = self.path.clone();
        TokenError::File { path, source }.into()
    }
}

impl NamedToken {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let token = Self {
            name: words.next()?.to_owned(),
            scope: words.next()?.parse().ok()?,
            hash: TokenHash::parse(words.next()?)?,
            created_ms: words.next()?.parse().ok()?,
        };
        (words.next().is_none() && !token.name.is_empty()).then_some(token)
    }
}

impl fmt::Display for NamedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            scope,
            created_ms,
            hash,
        } = self;
        write!(f, "{name} {scope} {} {created_ms}", hash.hex())
    }
}

/// The named tokens that requests are checked against.
#[derive(Clone, Debug)]
pub(crate) struct CurrentNamedTokens {
    file: NamedTokens,
    read: Arc<Mutex<ReadTokens>>,
}

#[derive(Debug, Default)]
struct ReadTokens {
    /// What the file was when it was read.
    stamp: Option<FileStamp>,
    tokens: Vec<NamedToken>,
}

/// Changes whenever the file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl CurrentNamedTokens {
    pub(crate) fn new(file: NamedTokens) -> Self {
        Self {
            file,
            read: Arc::default(),
        }
    }

    /// Returns the file of the tokens.
    pub(crate) fn file(&self) -> NamedTokens {
        self.file.clone()
    }

    /// Returns the name and the scope of a secret's token.
    pub(super) fn find(&self, secret: &[u8]) -> Option<(String, TokenScope)> {
        let read = self.latest();
        let found = read.tokens.iter().find(|it| it.hash.matches(secret));
        found.map(|it| (it.name.clone(), it.scope))
    }

    /// Returns whether there is a token with a name and a scope.
    pub(super) fn has(&self, name: &str, scope: TokenScope) -> bool {
        let read = self.latest();
        let mut tokens = read.tokens.iter();
        tokens.any(|it| it.name == name && it.scope == scope)
    }

    /// Returns the tokens, read again if the file has changed.
    fn latest(&self) -> MutexGuard<'_, ReadTokens> {
        let mut read = self.read.lock();
        let stamp = self.stamp();
        if stamp != read.stamp {
            // Nothing is accepted by a file that cannot be read.
            read.tokens = self.file.list().unwrap_or_else(|error| {
                tracing::warn!(%error, "named tokens are refused");
                Vec::new()
            });
            read.stamp = stamp;
        }
        read
    }

    fn stamp(&self) -> Option<FileStamp> {
        let facts = fs::metadata(&self.file.path).ok()?;
        Some(FileStamp {
            inode: facts.ino(),
            size: facts.size(),
            changed: (facts.ctime(), facts.ctime_nsec()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn tokens() -> (tempfile::TempDir, NamedTokens) {
        let folder = tempfile::tempdir().unwrap();
        let tokens = NamedTokens::beside(&folder.path().join("token"));
        (folder, tokens)
    }

    #[test]
    fn token_is_accepted_until_it_is_removed() {
        let (_folder, file) = tokens();
        let current = CurrentNamedTokens::new(file.clone());
        assert_eq!(current.find(b""), None);
        let look = file.add("look", TokenScope::Look, 1).unwrap();
        let own = file.add("own", TokenScope::Own, 2).unwrap();
        let found = |secret: &str| current.find(secret.as_bytes());
        assert_eq!(found(&look), Some(("look".to_owned(), TokenScope::Look)));
        assert_eq!(found(&own), Some(("own".to_owned(), TokenScope::Own)));
        assert_eq!(found("look"), None);
        file.remove("look").unwrap();
        assert_eq!(found(&look), None);
        assert_eq!(found(&own), Some(("own".to_owned(), TokenScope::Own)));
        let text = fs::read_to_string(&file.path).unwrap();
        assert!(!text.contains(&own), "the secret is not kept");
        let mode = fs::metadata(&file.path).unwrap().mode() & 0o7777;
        assert_eq!(mode, 0o600);
    }

    #[test]
    fn name_is_valid_and_unique() {
        let (_folder, file) = tokens();
        file.add("a.b-c_1", TokenScope::Write, 1).unwrap();
        let again = file.add("a.b-c_1", TokenScope::Look, 1);
        assert!(matches!(again, Err(NamedTokenError::Exists { .. })));
        for name in ["", "a b", "a\nb", "é", &"x".repeat(65)] {
            let added = file.add(name, TokenScope::Look, 1);
            assert!(matches!(added, Err(NamedTokenError::Name { .. })), "{name}");
        }
        assert_eq!(file.list().unwrap().len(), 1);
    }

    #[test]
    fn damaged_or_exposed_file_accepts_nothing() {
        let (_folder, file) = tokens();
        let secret = file.add("a", TokenScope::Look, 1).unwrap();
        let current = CurrentNamedTokens::new(file.clone());
        assert!(current.find(secret.as_bytes()).is_some());
        fs::set_permissions(&file.path, Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(
            file.list(),
            Err(NamedTokenError::File(TokenError::Exposed { .. }))
        ));
        assert_eq!(current.find(secret.as_bytes()), None);
        fs::set_permissions(&file.path, Permissions::from_mode(0o600)).unwrap();
        let text = fs::read_to_string(&file.path).unwrap();
        for damaged in ["a look", "a all 00 1", &text.replace(" 1", " x")] {
            fs::write(&file.path, damaged).unwrap();
            let read = file.list();
            assert!(
                matches!(read, Err(NamedTokenError::Damaged { line: 1, .. })),
                "{damaged}"
            );
            assert_eq!(current.find(secret.as_bytes()), None);
        }
    }

    #[test]
    fn scopes_include_those_before() {
        let names = TokenScope::ALL.map(TokenScope::name);
        assert_eq!(names, ["look", "answer", "write", "own"]);
        assert!(TokenScope::ALL.is_sorted());
        for scope in TokenScope::ALL {
            assert_eq!(scope.name().parse(), Ok(scope));
        }
        assert!("all".parse::<TokenScope>().is_err());
    }
}
