//! TLS 1.3, with a certificate that is given or one of the runner's own.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Certificate {
    /// From files in PEM.
    Files {
        /// The certificate, and those between it and a root.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// The runner's own, made at the first start and kept in this folder: clients trust it by its
    /// fingerprint.
    Own {
        /// The folder.
        folder: PathBuf,
        /// The names and addresses that clients use.
        names: Vec<String>,
    },
}

/// How connections over the network are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The runner's certificate.
    pub certificate: Certificate,
    /// Clients must show a certificate of one of the authorities in this file, in PEM, beside the
    /// token.
    pub client_authorities: Option<PathBuf>,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read or written.
    #[error("use {path} for TLS: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No certificate can be made for these names.
    #[error("make a certificate: {0}")]
    Own(#[from] rcgen::Error),
    /// Certificate and key do not go together, or cannot be used.
    #[error("use the certificate: {0}")]
    Unusable(#[from] rustls::Error),
    /// The authorities for clients cannot be used.
    #[error("use the authorities for clients: {0}")]
    Authorities(String),
}

/// What encrypts connections, and how clients know it.
#[derive(Clone)]
pub(super) struct Encryption {
    pub(super) acceptor: TlsAcceptor,
    /// The SHA-256 of the certificate in hexadecimal.
    pub(super) fingerprint: String,
}

impl Encryption {
    pub(super) fn new(tls: &Tls) -> Result<Self, TlsError> {
        let (chain, key) = match &tls.certificate {
            Certificate::Files { certificate, key } => (chain(certificate)?, private_key(key)?),
            Certificate::Own { folder, names } => own(folder, names)?,
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
    let wrong = |reason: String| TlsError::File {
        path: path.to_owned(),
        reason,
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| wrong(error.to_string()))?
        .collect();
    let chain = chain.map_err(|error| wrong(error.to_string()))?;
    if chain.is_empty() {
        return Err(wrong("it holds no certificate in PEM".to_owned()));
    }
    Ok(chain)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| TlsError::File {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

/// The certificate of the folder, made when there is none. It is kept, so that its fingerprint is
/// the same after the next start.
fn own(
    folder: &Path,
    names: &[String],
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    if !certificate.exists() {
        let made = rcgen::generate_simple_self_signed(names)?;
        // The certificate comes last: where it is, the key is too.
        replace(&key, &made.signing_key.serialize_pem())?;
        replace(&certificate, &made.cert.pem())?;
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
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn own_in(folder: &Path) -> Tls {
        Tls {
            certificate: Certificate::Own {
                folder: folder.to_owned(),
                names: vec!["runner.example".to_owned(), "10.0.0.7".to_owned()],
            },
            client_authorities: None,
        }
    }

    #[test]
    fn an_own_certificate_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let first = Encryption::new(&own_in(folder.path())).unwrap();
        let second = Encryption::new(&own_in(folder.path())).unwrap();
        assert_eq!(first.fingerprint.len(), 64);
        assert_eq!(first.fingerprint, second.fingerprint);
        let key = folder.path().join("key.pem");
        assert_eq!(key.metadata().unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
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
    fn authorities_for_clients_are_taken_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        Encryption::new(&own_in(folder.path())).unwrap();
        let tls = Tls {
            client_authorities: Some(folder.path().join("certificate.pem")),
            ..own_in(folder.path())
        };
        assert!(Encryption::new(&tls).is_ok());
    }
}
