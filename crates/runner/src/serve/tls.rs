//! TLS 1.3, with a configured or a self-signed certificate.

use std::fmt::{self, Write as _};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;

/// The source of the runner's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Certificate {
    /// PEM files.
    Files {
        /// The certificate, followed by intermediate certificates.
        certificate: PathBuf,
        /// The private key.
        key: PathBuf,
    },
    /// A self-signed certificate, created at the first start and kept in a folder. Clients trust it
    /// by its fingerprint.
    Own {
        /// The folder.
        folder: PathBuf,
        /// The names and addresses that clients use.
        names: Vec<String>,
    },
}

/// Encryption of TCP connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The runner's certificate.
    pub certificate: Certificate,
    /// A PEM file of certificate authorities. If set, clients must present a certificate of one of
    /// them in addition to the token.
    pub client_authorities: Option<PathBuf>,
}

/// Why the TLS configuration is unusable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read or written.
    #[error("use {path} for TLS: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// Creating a certificate for the configured names failed.
    #[error("create a certificate: {0}")]
    Own(#[from] rcgen::Error),
    /// The certificate is unusable, or its key does not match.
    #[error("use the certificate: {0}")]
    Unusable(#[from] rustls::Error),
    /// The certificate authorities for clients are unusable.
    #[error("use the client certificate authorities: {0}")]
    Authorities(String),
}

/// Accepts TLS connections with the runner's certificate, which may be replaced.
#[derive(Clone)]
pub(super) struct CurrentEncryption {
    tls: Arc<Tls>,
    current: Arc<RwLock<Encryption>>,
}

impl CurrentEncryption {
    pub(super) fn new(tls: &Tls) -> Result<Self, TlsError> {
        let current = Arc::new(RwLock::new(Encryption::new(tls)?));
        let tls = Arc::new(tls.clone());
        Ok(Self { tls, current })
    }

    /// Reads the files again. Keeps the present certificate on failure.
    pub(super) fn reload(&self) -> Result<(), TlsError> {
        let encryption = Encryption::new(&self.tls)?;
        *self.current.write() = encryption;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.current.read().acceptor.clone()
    }

    /// Returns the SHA-256 of the certificate in hexadecimal.
    pub(super) fn fingerprint(&self) -> String {
        self.current.read().fingerprint.clone()
    }
}

impl fmt::Debug for CurrentEncryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentEncryption")
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

/// The certificate that is in use.
struct Encryption {
    acceptor: TlsAcceptor,
    /// The SHA-256 of the certificate in hexadecimal.
    fingerprint: String,
}

impl Encryption {
    fn new(tls: &Tls) -> Result<Self, TlsError> {
        let (chain, key) = match &tls.certificate {
            Certificate::Files { certificate, key } => (chain(certificate)?, private_key(key)?),
            Certificate::Own { folder, names } => self_signed(folder, names)?,
        };
        let fingerprint = chain.first().map(|it| fingerprint(it)).unwrap_or_default();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13])?;
        let builder = match &tls.client_authorities {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let roots = Arc::new(roots(path)?);
                builder.with_client_cert_verifier(verifier(roots, provider)?)
            }
        };
        let mut configuration = builder.with_single_cert(chain, key)?;
        configuration.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(configuration));
        Ok(Self {
            acceptor,
            fingerprint,
        })
    }
}

fn verifier(
    roots: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    WebPkiClientVerifier::builder_with_provider(roots, provider)
        .build()
        .map_err(|error| TlsError::Authorities(error.to_string()))
}

fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(path)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let file_error = |reason: String| TlsError::File {
        path: path.to_owned(),
        reason,
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| file_error(error.to_string()))?
        .collect();
    let chain = chain.map_err(|error| file_error(error.to_string()))?;
    if chain.is_empty() {
        return Err(file_error("it contains no PEM certificate".to_owned()));
    }
    Ok(chain)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let file_error = |reason: String| TlsError::File {
        path: path.to_owned(),
        reason,
    };
    let file = fs::metadata(path).map_err(|error| file_error(error.to_string()))?;
    let mode = file.mode() & 0o7777;
    // A key of the system may be readable by a group.
    let exposed = if file.uid() == 0 { 0o027 } else { 0o077 };
    if mode & exposed != 0 {
        return Err(file_error(format!(
            "other users can read or write the key (mode {mode:04o}); run `chmod 600` on it"
        )));
    }
    PrivateKeyDer::from_pem_file(path).map_err(|error| file_error(error.to_string()))
}

/// Reads the self-signed certificate in a folder, or creates it. It is kept so that its fingerprint
/// does not change with the next start.
fn self_signed(
    folder: &Path,
    names: &[String],
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    if !certificate.exists() {
        let created = rcgen::generate_simple_self_signed(names)?;
        // The key is written first: if the certificate exists, so does the key.
        replace(&key, &created.signing_key.serialize_pem())?;
        replace(&certificate, &created.cert.pem())?;
    }
    Ok((chain(&certificate)?, private_key(&key)?))
}

fn replace(path: &Path, text: &str) -> Result<(), TlsError> {
    let write = || -> io::Result<()> {
        if path.exists() {
            fs::remove_file(path)?;
        }
        let mut create = OpenOptions::new();
        let mut file = create.write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())
    };
    write().map_err(|error| TlsError::File {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(certificate) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn self_signed_in(folder: &Path) -> Tls {
        Tls {
            certificate: Certificate::Own {
                folder: folder.to_owned(),
                names: vec!["runner.example".to_owned(), "10.0.0.7".to_owned()],
            },
            client_authorities: None,
        }
    }

    #[test]
    fn self_signed_certificate_is_reused() {
        let folder = tempfile::tempdir().unwrap();
        let first = Encryption::new(&self_signed_in(folder.path())).unwrap();
        let second = Encryption::new(&self_signed_in(folder.path())).unwrap();
        assert_eq!(first.fingerprint.len(), 64);
        assert_eq!(first.fingerprint, second.fingerprint);
        let key = folder.path().join("key.pem");
        assert_eq!(key.metadata().unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn unusable_file_is_named_in_error() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty.pem");
        fs::write(&empty, "").unwrap();
        let tls = Tls {
            certificate: Certificate::Files {
                certificate: empty.clone(),
                key: empty,
            },
            client_authorities: None,
        };
        let error = Encryption::new(&tls).err().unwrap().to_string();
        assert!(error.contains("empty.pem"), "{error}");
    }

    #[test]
    fn key_readable_by_others_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        Encryption::new(&self_signed_in(folder.path())).unwrap();
        let key = folder.path().join("key.pem");
        for mode in [0o644, 0o604, 0o622] {
            fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
            let error = Encryption::new(&self_signed_in(folder.path()))
                .err()
                .unwrap();
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn reload_replaces_certificate_or_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let encryption = CurrentEncryption::new(&self_signed_in(folder.path())).unwrap();
        let first = encryption.fingerprint();
        fs::write(folder.path().join("certificate.pem"), "damaged").unwrap();
        assert!(encryption.reload().is_err());
        assert_eq!(encryption.fingerprint(), first);
        fs::remove_file(folder.path().join("certificate.pem")).unwrap();
        encryption.reload().unwrap();
        assert_ne!(encryption.fingerprint(), first);
    }

    #[test]
    fn client_authorities_are_read_from_file() {
        let folder = tempfile::tempdir().unwrap();
        Encryption::new(&self_signed_in(folder.path())).unwrap();
        let tls = Tls {
            client_authorities: Some(folder.path().join("certificate.pem")),
            ..self_signed_in(folder.path())
        };
        assert!(Encryption::new(&tls).is_ok());
    }
}
