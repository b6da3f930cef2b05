//! Writes test certificates for a runner with `--client-ca` to the directory given as argument:
//! `authority.pem`, a client certificate of that authority (`trusted.crt`, `trusted.key`) and one of
//! another authority (`untrusted.crt`, `untrusted.key`); and a server certificate of the first
//! (`localhost.crt`, `localhost.key`).

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.ok_or("no directory given; usage: certificates DIRECTORY")?;
    let (issuer, certificate) = authority()?;
    fs::write(directory.join("authority.pem"), certificate)?;
    let client = ExtendedKeyUsagePurpose::ClientAuth;
    issue(&issuer, &directory, "trusted", client.clone())?;
    issue(&authority()?.0, &directory, "untrusted", client)?;
    let server = ExtendedKeyUsagePurpose::ServerAuth;
    issue(&issuer, &directory, "localhost", server)
}

/// Creates a certificate authority and returns its certificate in PEM.
fn authority() -> Result<(Issuer<'static, KeyPair>, String), Failure> {
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?.pem();
    Ok((Issuer::new(parameters, key), certificate))
}

fn issue(
    authority: &Issuer<'_, KeyPair>,
    directory: &Path,
    name: &str,
    usage: ExtendedKeyUsagePurpose,
) -> Result<(), Failure> {
    let mut parameters = CertificateParams::new(vec![name.to_owned()])?;
    parameters.extended_key_usages = vec![usage];
    let key = KeyPair::generate()?;
    let certificate = parameters.signed_by(&key, authority)?;
    fs::write(directory.join(format!("{name}.crt")), certificate.pem())?;
    // A runner takes no key that other users can read.
    let mut private = fs::OpenOptions::new();
    private.write(true).create_new(true).mode(0o600);
    let mut file = private.open(directory.join(format!("{name}.key")))?;
    file.write_all(key.serialize_pem().as_bytes())?;
    Ok(())
}
