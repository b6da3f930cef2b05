//! Whom to believe that he is the runner, and how to prove who we are.

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::ring::{cipher_suite, default_provider};
use tokio_rustls::rustls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, version,
};

use super::farewell::LastWords;
use super::machine::Breakage;
use super::network::ByteStream;
use super::target::Remote;
use super::url::Carrier;
use crate::connection::ReconnectFailure;

/// How a runner proves who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// By a certificate for its name from an authority that browsers trust.
    #[default]
    Authorities,
    /// By one of these certificates, whatever its name and its dates: the SHA-256 of each in DER,
    /// as `openssl x509 -outform der | sha256sum` has it.
    Certificates(Vec<[u8; 32]>),
    /// Not at all, and everything can be read on the way. Lets `http://` reach other machines, for
    /// networks that are encrypted and authenticated themselves, and for simulated ones.
    Unprotected,
}

/// How we prove who we are to a runner that lets nobody in without a certificate (mutual TLS). Both
/// files are read for each connection, so that a renewed certificate is shown from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Our certificate and those between it and the authority that the runner knows, in PEM.
    pub certificate: PathBuf,
    /// The private key of the first one, in PEM.
    pub key: PathBuf,
}

/// Speaks TLS 1.3 over a connection to this host.
pub(super) async fn secure(
    stream: Box<dyn ByteStream>,
    host: &str,
    remote: &Remote,
    carrier: Carrier,
) -> Result<Box<dyn ByteStream>, Breakage> {
    let lost = |error: io::Error| broken(&remote.url.to_string(), &error);
    let name = ServerName::try_from(host.to_owned()).map_err(|it| lost(io::Error::other(it)))?;
    let mut configuration = configuration(remote)?;
    // Application protocol names of RFC 7301.
    configuration.alpn_protocols = vec![match carrier {
        Carrier::WebSocket => b"http/1.1".to_vec(),
        Carrier::Grpc => b"h2".to_vec(),
    }];
    let connector = TlsConnector::from(Arc::new(configuration));
    let stream = connector.connect(name, stream).await.map_err(lost)?;
    Ok(Box::new(LastWords::of(stream)))
}

/// What it means that a connection broke: a runner that refuses our certificate says so as late as
/// in its first answer.
pub(super) fn broken(what: &str, error: &(dyn StdError + 'static)) -> Breakage {
    if is_refusal(error) {
        let detail = format!(
            "{what}: it lets nobody in without a certificate that it knows, show it one ({error})"
        );
        return Breakage::new(ReconnectFailure::Auth, detail);
    }
    Breakage::lost(format!("{what}: {error}"))
}

/// Whether a runner has refused our certificate, or wants one (RFC 8446, section 6.2).
fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    if let Some(Error::AlertReceived(alert)) = error.downcast_ref() {
        return matches!(
            alert,
            AlertDescription::CertificateRequired
                | AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied
                | AlertDescription::DecryptError
        );
    }
    // An I/O error hides what it is made of from `source`.
    let inner = error
        .downcast_ref::<io::Error>()
        .and_then(|it| it.get_ref())
        .map(|it| it as &(dyn StdError + 'static));
    inner.or_else(|| error.source()).is_some_and(is_refusal)
}

fn configuration(remote: &Remote) -> Result<ClientConfig, Breakage> {
    let unfit = |error: Error| Breakage::lost(format!("{}: {error}", remote.url));
    let provider = Arc::new(default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .map_err(unfit)?;
    let builder = match &remote.trust {
        Trust::Authorities => {
            let roots = webpki_roots::TLS_SERVER_ROOTS.iter().cloned();
            builder.with_root_certificates(roots.collect::<RootCertStore>())
        }
        Trust::Certificates(known) => {
            let known = known.clone();
            let verifier = Arc::new(Pinned { known, algorithms });
            let builder = builder.dangerous();
            builder.with_custom_certificate_verifier(verifier)
        }
        Trust::Unprotected => {
            return Err(Breakage::lost(format!(
                "{}: an https:// runner has to prove who it is, name its certificate",
                remote.url
            )));
        }
    };
    let configuration = match &remote.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) = identity.read()?;
            let shown = builder.with_client_auth_cert(chain, key);
            shown.map_err(|error| unusable(&identity.certificate, &error))?
        }
    };
    Ok(configuration)
}

impl Identity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Breakage> {
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect)
            .map_err(|error| unusable(&self.certificate, &error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key);
        Ok((chain, key.map_err(|error| unusable(&self.key, &error))?))
    }
}

fn unusable(path: &Path, error: &dyn StdError) -> Breakage {
    let detail = format!(
        "our certificate cannot be shown: {}: {error}, give one in PEM and its key",
        path.display()
    );
    Breakage::new(ReconnectFailure::Auth, detail)
}

/// Takes certificates that it knows, and no others. That the runner has the key is checked as ever.
#[derive(Debug)]
struct Pinned {
    known: Vec<[u8; 32]>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let hash = sha256(certificate);
        let mut known = self.known.iter();
        if known.any(|known| known[..] == *hash.as_ref()) {
            return Ok(ServerCertVerified::assertion());
        }
        let refused = CertificateError::ApplicationVerificationFailure;
        Err(Error::InvalidCertificate(refused))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The hash that a suite which ends with its name works with.
fn sha256(bytes: &[u8]) -> impl AsRef<[u8]> {
    let suite = cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    let suite = suite.expect("a suite of TLS 1.3 is one");
    suite.common.hash_provider.hash(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_sha_256() {
        let hash = sha256(b"abc");
        let hex: String = hash.as_ref().iter().map(|it| format!("{it:02x}")).collect();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex, expected, "FIPS 180-2, appendix B.1");
    }
}
