//! TLS: authentication of the runner and of this client.

use std::error::Error as StdError;
use std::io;
use std::path::Path;
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

use super::alert_stream::AlertStream;
use super::machine::LinkError;
use super::network::ByteStream;
use super::target::Remote;
use super::trust::{Identity, Trust};
use super::url::Carrier;
use crate::connection::ReconnectFailure;

/// Performs a TLS 1.3 handshake with the runner over `stream`.
pub(super) async fn secure(
    stream: Box<dyn ByteStream>,
    host: &str,
    remote: &Remote,
    carrier: Carrier,
) -> Result<Box<dyn ByteStream>, LinkError> {
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
    Ok(Box::new(AlertStream::new(stream)))
}

/// Classifies the error of a connection. A runner may refuse the client certificate (RFC 8446, section
/// 4.4.2.4) as late as in its first response.
pub(super) fn broken(what: &str, error: &(dyn StdError + 'static)) -> LinkError {
    if is_refusal(error) {
        let detail = format!(
            "{what}: the runner requires a client certificate that it trusts ({error}); set one"
        );
        return LinkError::new(ReconnectFailure::Auth, detail);
    }
    match tls_error(error).and_then(remedy) {
        Some(remedy) => LinkError::new(
            ReconnectFailure::Misconfigured,
            format!("{what}: {error}; {remedy}"),
        ),
        None => LinkError::lost(format!("{what}: {error}")),
    }
}

/// Returns what resolves a failed handshake; `None` if another attempt may succeed.
fn remedy(error: &Error) -> Option<&'static str> {
    match error {
        Error::InvalidCertificate(_) => Some(
            "the runner's certificate is not trusted: check the host name, or pin the certificate's \
             fingerprint, which `bowline serve` prints",
        ),
        Error::InvalidMessage(_) => {
            Some("the port does not speak TLS: check it, or use http:// on this machine")
        }
        Error::PeerIncompatible(_)
        | Error::AlertReceived(
            AlertDescription::ProtocolVersion
            | AlertDescription::HandshakeFailure
            | AlertDescription::NoApplicationProtocol
            | AlertDescription::UnrecognisedName,
        ) => Some("the server accepts no TLS 1.3 for this name: check the URL"),
        _ => None,
    }
}

/// Finds the TLS error among the causes of an error.
fn tls_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Error> {
    if let Some(error) = error.downcast_ref() {
        return Some(error);
    }
    // `source` of an I/O error skips its inner error.
    let inner = error
        .downcast_ref::<io::Error>()
        .and_then(|it| it.get_ref())
        .map(|it| it as &(dyn StdError + 'static));
    inner.or_else(|| error.source()).and_then(tls_error)
}

/// Returns whether the runner refused the client certificate or requires one (RFC 8446, section 6.2).
fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    matches!(
        tls_error(error),
        Some(Error::AlertReceived(
            AlertDescription::CertificateRequired
                | AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied
                | AlertDescription::DecryptError
        ))
    )
}

fn configuration(remote: &Remote) -> Result<ClientConfig, LinkError> {
    let unfit = |error: Error| LinkError::lost(format!("{}: {error}", remote.url));
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
        Trust::Plaintext => {
            return Err(LinkError::lost(format!(
                "{}: https:// requires an authenticated runner; set the trusted certificate",
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
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), LinkError> {
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect)
            .map_err(|error| unusable(&self.certificate, &error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key);
        Ok((chain, key.map_err(|error| unusable(&self.key, &error))?))
    }
}

fn unusable(path: &Path, error: &dyn StdError) -> LinkError {
    let detail = format!(
        "cannot use the client certificate: {}: {error}; set a certificate and its key in PEM",
        path.display()
    );
    LinkError::new(ReconnectFailure::Auth, detail)
}

/// Accepts only the pinned certificates. rustls verifies that the runner has the private key.
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

/// Returns the SHA-256 of `bytes`, with the hash function of a cipher suite.
fn sha256(bytes: &[u8]) -> impl AsRef<[u8]> {
    let suite = cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    let suite = suite.expect("the suite is for TLS 1.3");
    suite.common.hash_provider.hash(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_sha_256() {
        let hash = sha256(b"abc");
        let hex: String = hash.as_ref().iter().map(|it| format!("{it:02x}")).collect();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex, expected, "FIPS 180-2, appendix B.1");
    }
}
