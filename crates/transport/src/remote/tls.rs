//! Whom to believe that he is the runner.

use std::io;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::ring::{cipher_suite, default_provider};
use tokio_rustls::rustls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    version,
};

use super::network::ByteStream;

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

/// Speaks TLS 1.3 over a connection.
pub(super) async fn secure(
    stream: Box<dyn ByteStream>,
    host: &str,
    trust: &Trust,
) -> io::Result<Box<dyn ByteStream>> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let connector = TlsConnector::from(Arc::new(configuration(trust)?));
    Ok(Box::new(connector.connect(name, stream).await?))
}

fn configuration(trust: &Trust) -> io::Result<ClientConfig> {
    let provider = Arc::new(default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .map_err(io::Error::other)?;
    let mut configuration = match trust {
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
            return Err(io::Error::other(
                "an https:// runner has to prove who it is, name its certificate",
            ));
        }
    }
    .with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
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
