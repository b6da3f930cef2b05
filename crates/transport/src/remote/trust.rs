//! How a runner and this client authenticate to each other.

use std::path::PathBuf;

/// How a runner is authenticated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// By a certificate for its name from a public certificate authority.
    #[default]
    Authorities,
    /// By one of these certificates, regardless of its name and dates. Each is the SHA-256 of the
    /// DER form, as printed by `openssl x509 -outform der | sha256sum`.
    Certificates(Vec<[u8; 32]>),
    /// Not authenticated and not encrypted. Allows `http://` to other machines, for networks that are
    /// encrypted and authenticated themselves, and for simulated ones.
    Plaintext,
}

/// The client certificate for a runner that requires one (mutual TLS). Both files are read for each
/// connection, so a renewed certificate applies from the next connection on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The client certificate and its intermediate certificates, in PEM.
    pub certificate: PathBuf,
    /// The private key of the client certificate, in PEM.
    pub key: PathBuf,
}
