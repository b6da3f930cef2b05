//! Writes what the tests of the other languages show to a runner with `--client-ca`, into the folder
//! that is named: `authority.pem`, and for a friend of that authority and a stranger a certificate
//! (`friend.crt`) and its key (`friend.key`).

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or("name a folder to write to")?;
    let (known, certificate) = authority()?;
    fs::write(folder.join("authority.pem"), certificate)?;
    vouch(&known, &folder, "friend")?;
    vouch(&authority()?.0, &folder, "stranger")
}

/// Somebody who vouches for others, and the certificate that he is known by.
fn authority() -> Result<(Issuer<'static, KeyPair>, String), Failure> {
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?.pem();
    Ok((Issuer::new(parameters, key), certificate))
}

fn vouch(authority: &Issuer<'_, KeyPair>, folder: &Path, name: &str) -> Result<(), Failure> {
    let mut parameters = CertificateParams::new(vec![name.to_owned()])?;
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate()?;
    let certificate = parameters.signed_by(&key, authority)?;
    fs::write(folder.join(format!("{name}.crt")), certificate.pem())?;
    fs::write(folder.join(format!("{name}.key")), key.serialize_pem())?;
    Ok(())
}
